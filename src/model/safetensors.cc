// See safetensors.h.
#include "model/safetensors.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "base/read_exactly.h"

namespace dure {
namespace {

constexpr int64_t length_bytes = 8;
constexpr size_t most_dimensions = 16;

struct KnownType {
  std::string_view name;
  int64_t bits;
};

// All types of the format, also those that no weight of ours may have: sizes are checked before
// use is.
constexpr std::array known_types = {
    KnownType{"BOOL", 8},    KnownType{"U8", 8},      KnownType{"I8", 8},   KnownType{"F8_E4M3", 8},
    KnownType{"F8_E5M2", 8}, KnownType{"F8_E8M0", 8}, KnownType{"F4", 4},   KnownType{"F6_E2M3", 6},
    KnownType{"F6_E3M2", 6}, KnownType{"U16", 16},    KnownType{"I16", 16}, KnownType{"F16", 16},
    KnownType{"BF16", 16},   KnownType{"U32", 32},    KnownType{"I32", 32}, KnownType{"F32", 32},
    KnownType{"U64", 64},    KnownType{"I64", 64},    KnownType{"F64", 64}, KnownType{"C64", 64},
};

constexpr auto broken = "the file is damaged or was written by a broken tool: download it again";

uint64_t little_endian_u64(std::string_view bytes) {
  uint64_t value = 0;
  for (int i = 7; i >= 0; --i)
    value = value << 8 | static_cast<unsigned char>(bytes[static_cast<size_t>(i)]);
  return value;
}

class EntryParser {
 public:
  EntryParser(const std::string& name, const Json& value, const std::string& what)
      : name_(name), value_(value), what_(what) {}

  // Offsets count from `data_begin`; the file ends after `data_bytes` of data.
  SafetensorsEntry parse(int64_t data_begin, int64_t data_bytes) {
    if (!value_.is_object()) fail("its entry is not an object");
    for (const auto& [key, ignored] : value_.items()) {
      if (key != "dtype" && key != "shape" && key != "data_offsets") {
        fail(fmt::format("its entry has an unknown key \"{:.40}\"", key));
      }
    }
    SafetensorsEntry entry;
    entry.name = name_;
    if (!value_.contains("dtype") || !value_["dtype"].is_string()) fail("it has no dtype");
    entry.dtype = value_["dtype"].get<std::string>();
    entry.shape = integers("shape", most_dimensions);
    const std::vector<int64_t> offsets = integers("data_offsets", 2);
    if (offsets.size() != 2) fail("data_offsets is not a pair");
    if (offsets[0] > offsets[1]) fail("its data ends before it begins");
    if (offsets[1] > data_bytes) {
      throw_bad_input(
          fmt::format("{}: {:.120}: its data ends at byte {}, but the file ends at byte {}", what_,
                      name_, data_begin + offsets[1], data_begin + data_bytes),
          "the file is truncated: incomplete download?");
    }
    entry.offset = data_begin + offsets[0];
    entry.bytes = offsets[1] - offsets[0];
    const int64_t expected = bytes_of_shape(entry);
    if (expected != entry.bytes) {
      fail(fmt::format("its shape needs {} bytes, but its offsets hold {}", expected, entry.bytes));
    }
    return entry;
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    throw_bad_input(fmt::format("{}: {:.120}: {}", what_, name_, problem), broken);
  }

  std::vector<int64_t> integers(const char* key, size_t most) const {
    if (!value_.contains(key) || !value_[key].is_array() || value_[key].size() > most) {
      fail(fmt::format("{} is not a list of at most {} integers", key, most));
    }
    std::vector<int64_t> numbers;
    for (const Json& number : value_[key]) {
      // Unsigned only: every negative number is parsed as a signed one.
      if (!number.is_number_unsigned() || number.get<uint64_t>() > INT64_MAX) {
        fail(fmt::format("{} holds something that is not a non-negative integer", key));
      }
      numbers.push_back(number.get<int64_t>());
    }
    return numbers;
  }

  int64_t bytes_of_shape(const SafetensorsEntry& entry) const {
    const auto* type = std::find_if(known_types.begin(), known_types.end(),
                                    [&](const KnownType& t) { return t.name == entry.dtype; });
    if (type == known_types.end()) fail(fmt::format("unknown dtype \"{:.40}\"", entry.dtype));
    int64_t bits = type->bits;
    for (int64_t size : entry.shape) {
      if (__builtin_mul_overflow(bits, size, &bits)) fail("its shape is too large");
    }
    if (bits % 8 != 0) fail("its size is not whole bytes");
    return bits / 8;
  }

  const std::string& name_;
  const Json& value_;
  const std::string& what_;
};

void check_contiguous(const std::vector<SafetensorsEntry>& entries, int64_t data_begin,
                      int64_t file_bytes, const std::string& what) {
  int64_t expected = data_begin;
  for (const SafetensorsEntry& entry : entries) {
    if (entry.offset != expected) {
      throw_bad_input(
          fmt::format("{}: {:.120}: its data {} that of the tensor before it", what, entry.name,
                      entry.offset < expected ? "overlaps" : "leaves a hole after"),
          broken);
    }
    expected = entry.offset + entry.bytes;
  }
  if (expected != file_bytes) {
    throw_bad_input(fmt::format("{}: {} bytes after the last tensor that no tensor owns", what,
                                file_bytes - expected),
                    broken);
  }
}

int64_t header_length(std::string_view first_bytes, int64_t file_bytes, const std::string& what) {
  if (file_bytes < length_bytes) {
    throw_bad_input(
        fmt::format("{}: {} bytes are too few for a safetensors file", what, file_bytes),
        "incomplete download?");
  }
  const uint64_t length = little_endian_u64(first_bytes);
  if (length > static_cast<uint64_t>(most_header_bytes)) {
    throw_bad_input(
        fmt::format("{}: its header claims {} bytes, more than the {} that the format allows", what,
                    length, most_header_bytes),
        "this is not a safetensors file");
  }
  if (static_cast<int64_t>(length) > file_bytes - length_bytes) {
    throw_bad_input(fmt::format("{}: its header of {} bytes does not fit into the file of {} bytes",
                                what, length, file_bytes),
                    "the file is truncated: incomplete download?");
  }
  return static_cast<int64_t>(length);
}

}  // namespace

std::vector<SafetensorsEntry> parse_safetensors_header(std::string_view head, int64_t file_bytes,
                                                       const std::string& what) {
  const int64_t length = header_length(head, file_bytes, what);
  DURE_CHECK(static_cast<int64_t>(head.size()) >= length_bytes + length);
  const std::string_view text = head.substr(length_bytes, static_cast<size_t>(length));
  if (text.empty() || text[0] != '{') {
    throw_bad_input(fmt::format("{}: its header is not a JSON object", what),
                    "this is not a safetensors file");
  }
  const Json header = parse_json(text, what + " (header)", {.max_depth = 16});
  const int64_t data_begin = length_bytes + length;
  std::vector<SafetensorsEntry> entries;
  entries.reserve(header.size());
  for (const auto& [name, value] : header.items()) {
    if (name == "__metadata__") continue;
    entries.push_back(EntryParser(name, value, what).parse(data_begin, file_bytes - data_begin));
  }
  std::sort(entries.begin(), entries.end(),
            [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
              return std::pair(a.offset, a.bytes) < std::pair(b.offset, b.bytes);
            });
  check_contiguous(entries, data_begin, file_bytes, what);
  return entries;
}

std::vector<SafetensorsEntry> read_safetensors_header(int descriptor, const std::string& what) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0) {
    throw Error(ErrorCode::failed, fmt::format("{}: {}", what, std::strerror(errno)));
  }
  const int64_t file_bytes = status.st_size;
  std::string head(length_bytes, '\0');
  if (file_bytes >= length_bytes) read_exactly(descriptor, 0, length_bytes, head.data(), what);
  const int64_t length = header_length(head, file_bytes, what);
  head.resize(static_cast<size_t>(length_bytes + length));
  read_exactly(descriptor, length_bytes, length, head.data() + length_bytes, what);
  return parse_safetensors_header(head, file_bytes, what);
}

}  // namespace dure
