// See header.h.
#include "gguf/header.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/read_exactly.h"
#include "base/utf8.h"
#include "gguf/cursor.h"

namespace dure {
namespace {

constexpr uint64_t most_name_bytes = 1024;
constexpr uint64_t most_text_bytes = uint64_t{16} << 20;
constexpr uint64_t most_dimensions = 4;  // of the format
constexpr int64_t usual_alignment = 32;
constexpr std::string_view magic = "GGUF";

// Numbers of the format for the kinds of values.
enum class Kind : uint64_t { u8, i8, u16, i16, u32, i32, f32, boolean, text, list, u64, i64, f64 };

int bytes_of_kind(Kind kind) {
  switch (kind) {
    case Kind::u8:
    case Kind::i8:
    case Kind::boolean:
      return 1;
    case Kind::u16:
    case Kind::i16:
      return 2;
    case Kind::u32:
    case Kind::i32:
    case Kind::f32:
      return 4;
    default:
      return 8;
  }
}

struct StoredAs {
  uint64_t number;  // in the file
  std::variant<DType, BlockFormat> type;
};

constexpr StoredAs stored_types[] = {
    {0, DType::f32},
    {1, DType::f16},
    {2, BlockFormat::q4_0},
    {3, BlockFormat::q4_1},
    {6, BlockFormat::q5_0},
    {7, BlockFormat::q5_1},
    {8, BlockFormat::q8_0},
    {10, BlockFormat::q2_k},
    {11, BlockFormat::q3_k},
    {12, BlockFormat::q4_k},
    {13, BlockFormat::q5_k},
    {14, BlockFormat::q6_k},
    {16, BlockFormat::iq2_xxs},
    {17, BlockFormat::iq2_xs},
    {18, BlockFormat::iq3_xxs},
    {19, BlockFormat::iq1_s},
    {20, BlockFormat::iq4_nl},
    {21, BlockFormat::iq3_s},
    {22, BlockFormat::iq2_s},
    {23, BlockFormat::iq4_xs},
    {29, BlockFormat::iq1_m},
    {30, DType::bf16},
    {39, BlockFormat::mxfp4},
};

// Names come from outside and end up in messages.
bool is_name(const std::string& text) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  return !text.empty() && utf8::first_invalid(text) == text.size() &&
         std::none_of(text.begin(), text.end(), is_control);
}

class HeaderParser {
 public:
  HeaderParser(const ReadBytes& read, int64_t file_bytes, const std::string& what)
      : cursor_(read, file_bytes, what), read_(read), file_bytes_(file_bytes), what_(what) {}

  GgufHeader parse() {
    read_start();
    header_.metadata = GgufMetadata(what_);
    const uint64_t tensors = cursor_.unsigned_integer(8, "the number of tensors");
    const uint64_t values = cursor_.unsigned_integer(8, "the number of values");
    cursor_.expect(values, 13, "values");
    for (uint64_t i = 0; i < values; ++i) read_value();
    cursor_.expect(tensors, 32, "tensors");
    for (uint64_t i = 0; i < tensors; ++i) read_tensor();
    place_tensors();
    return std::move(header_);
  }

 private:
  void read_start() {
    if (file_bytes_ < 24) {
      throw_bad_input(fmt::format("{}: {} bytes are too few for a GGUF file", what_, file_bytes_),
                      "incomplete download?");
    }
    char start[magic.size()];
    for (char& each : start) {
      each = static_cast<char>(cursor_.unsigned_integer(1, "its first bytes"));
    }
    if (std::string_view(start, sizeof start) != magic) {
      throw_bad_input(fmt::format("{}: does not begin with \"GGUF\"", what_),
                      "this is not a GGUF file");
    }
    const uint64_t version = cursor_.unsigned_integer(4, "its version");
    if (version == 2 || version == 3) {
      header_.version = static_cast<int>(version);
      return;
    }
    const bool turned = (version & 0xffffu) == 0;  // 3, of a machine that turns bytes around
    throw_bad_input(turned ? fmt::format("{}: a big-endian GGUF file", what_)
                           : fmt::format("{}: GGUF version {}", what_, version),
                    "versions 2 and 3 are read, little-endian: convert the model anew");
  }

  void read_value() {
    std::string key = cursor_.text("the name of a value", most_name_bytes);
    if (!is_name(key)) cursor_.fail("the name of a value is not readable");
    const uint64_t kind = cursor_.unsigned_integer(4, key);
    GgufValue value = kind == static_cast<uint64_t>(Kind::list) ? list(key) : single(kind, key);
    if (!header_.metadata.add(key, std::move(value))) {
      cursor_.fail(fmt::format("{}: occurs twice", key));
    }
  }

  static bool is_integer(Kind kind) {
    return kind <= Kind::i32 || kind == Kind::u64 || kind == Kind::i64;
  }

  Kind known(uint64_t kind, const std::string& key) const {
    if (kind > static_cast<uint64_t>(Kind::f64)) {
      cursor_.fail(fmt::format("{}: a value of unknown kind {}", key, kind));
    }
    return static_cast<Kind>(kind);
  }

  // Integers as their two's complement; what does not fit into int64_t is said by `too_large`.
  int64_t integer(Kind kind, const std::string& key, bool* too_large) {
    const int bytes = bytes_of_kind(kind);
    const uint64_t raw = cursor_.unsigned_integer(bytes, key);
    const bool is_signed = kind == Kind::i8 || kind == Kind::i16 || kind == Kind::i32;
    if (is_signed && (raw >> (8 * bytes - 1) & 1u) != 0) {
      return static_cast<int64_t>(raw | ~uint64_t{0} << (8 * bytes));
    }
    *too_large = kind == Kind::u64 && raw >> 63 != 0;
    return static_cast<int64_t>(raw);
  }

  double fraction(Kind kind, const std::string& key) {
    const uint64_t raw = cursor_.unsigned_integer(bytes_of_kind(kind), key);
    return kind == Kind::f32 ? double{std::bit_cast<float>(static_cast<uint32_t>(raw))}
                             : std::bit_cast<double>(raw);
  }

  bool boolean(const std::string& key) {
    const uint64_t raw = cursor_.unsigned_integer(1, key);
    if (raw > 1) cursor_.fail(fmt::format("{}: a boolean that is {}", key, raw));
    return raw == 1;
  }

  GgufValue single(uint64_t number, const std::string& key) {
    const Kind kind = known(number, key);
    if (kind == Kind::text) return cursor_.text(key, most_text_bytes);
    if (kind == Kind::boolean) return boolean(key);
    if (!is_integer(kind)) return fraction(kind, key);
    bool too_large = false;
    const int64_t value = integer(kind, key, &too_large);
    if (too_large) return static_cast<double>(static_cast<uint64_t>(value));
    return value;
  }

  GgufValue list(const std::string& key) {
    const Kind kind = known(cursor_.unsigned_integer(4, key), key);
    const uint64_t count = cursor_.unsigned_integer(8, key);
    if (kind == Kind::list) cursor_.fail(fmt::format("{}: a list of lists", key));
    cursor_.expect(count, bytes_of_kind(kind), key);
    if (kind == Kind::text) {
      std::vector<std::string> texts;
      for (uint64_t i = 0; i < count; ++i) texts.push_back(cursor_.text(key, most_text_bytes));
      return texts;
    }
    if (kind == Kind::boolean) {
      std::vector<bool> booleans;
      for (uint64_t i = 0; i < count; ++i) booleans.push_back(boolean(key));
      return booleans;
    }
    if (!is_integer(kind)) {
      std::vector<double> fractions;
      for (uint64_t i = 0; i < count; ++i) fractions.push_back(fraction(kind, key));
      return fractions;
    }
    std::vector<int64_t> integers;
    for (uint64_t i = 0; i < count; ++i) {
      bool too_large = false;
      integers.push_back(integer(kind, key, &too_large));
      if (too_large) cursor_.fail(fmt::format("{}: an entry beyond 2^63", key));
    }
    return integers;
  }

  void read_tensor() {
    GgufTensor tensor;
    tensor.name = cursor_.text("the name of a tensor", most_name_bytes);
    if (!is_name(tensor.name)) cursor_.fail("the name of a tensor is not readable");
    if (!names_.insert(tensor.name).second) {
      cursor_.fail(fmt::format("{}: there are two tensors of this name", tensor.name));
    }
    const uint64_t dimensions = cursor_.unsigned_integer(4, tensor.name);
    if (dimensions < 1 || dimensions > most_dimensions) {
      cursor_.fail(fmt::format("{}: {} dimensions, of which the format allows 1 to {}", tensor.name,
                               dimensions, most_dimensions));
    }
    int64_t elements = 1;
    for (uint64_t i = 0; i < dimensions; ++i) {
      const uint64_t size = cursor_.unsigned_integer(8, tensor.name);
      if (size < 1 || size > uint64_t{1} << 48 || elements > (int64_t{1} << 48) / int64_t(size)) {
        cursor_.fail(fmt::format("{}: a dimension of {}", tensor.name, size));
      }
      elements *= static_cast<int64_t>(size);
      tensor.shape.insert(tensor.shape.begin(), static_cast<int64_t>(size));
    }
    read_type(tensor, elements);
    const uint64_t offset = cursor_.unsigned_integer(8, tensor.name);
    if (offset > static_cast<uint64_t>(file_bytes_)) fail_outside(tensor);
    tensor.offset = static_cast<int64_t>(offset);
    header_.tensors.push_back(std::move(tensor));
  }

  void read_type(GgufTensor& tensor, int64_t elements) {
    const uint64_t number = cursor_.unsigned_integer(4, tensor.name);
    const auto* found = std::find_if(std::begin(stored_types), std::end(stored_types),
                                     [&](const StoredAs& each) { return each.number == number; });
    if (found == std::end(stored_types)) {
      throw_bad_input(
          fmt::format("{}: {}: of type {}, which is not read", what_, tensor.name, number),
          "read are F32, F16, BF16, Q4_0 to Q8_0, Q2_K to Q6_K, the IQ types and MXFP4",
          tensor.name);
    }
    tensor.type = found->type;
    if (const auto* dtype = std::get_if<DType>(&tensor.type)) {
      tensor.bytes = elements * bytes_of(*dtype);
      return;
    }
    const BlockSize block = size_of(std::get<BlockFormat>(tensor.type));
    if (tensor.shape.back() % block.values != 0) {
      cursor_.fail(fmt::format("{}: rows of {} are no whole blocks of {}", tensor.name,
                               tensor.shape.back(), block.values));
    }
    tensor.bytes = elements / block.values * block.bytes;
  }

  [[noreturn]] void fail_outside(const GgufTensor& tensor) const {
    throw_bad_input(fmt::format("{}: {}: its data lies beyond the end of the file at byte {}",
                                what_, tensor.name, file_bytes_),
                    "the file is truncated: incomplete download?");
  }

  // Offsets in the file count from where the data begins.
  void place_tensors() {
    const int64_t alignment = header_.metadata.optional_integer("general.alignment", 1, 1 << 20)
                                  .value_or(usual_alignment);
    if (!std::has_single_bit(static_cast<uint64_t>(alignment))) {
      header_.metadata.fail("general.alignment", fmt::format("{} is no power of two", alignment));
    }
    const auto aligned = [alignment](int64_t at) { return (at + alignment - 1) & -alignment; };
    header_.data_begin = aligned(cursor_.position());
    for (GgufTensor& tensor : header_.tensors) {
      if (tensor.offset % alignment != 0) {
        cursor_.fail(fmt::format("{}: its offset {} is not a multiple of {}", tensor.name,
                                 tensor.offset, alignment));
      }
      tensor.offset += header_.data_begin;
      if (tensor.offset > file_bytes_ || tensor.bytes > file_bytes_ - tensor.offset) {
        fail_outside(tensor);
      }
    }
    std::sort(header_.tensors.begin(), header_.tensors.end(),
              [](const GgufTensor& a, const GgufTensor& b) { return a.offset < b.offset; });
    int64_t end = header_.data_begin;
    for (const GgufTensor& tensor : header_.tensors) {
      if (tensor.offset < end) {
        cursor_.fail(fmt::format("{}: its data overlaps that of another tensor", tensor.name));
      }
      end = tensor.offset + tensor.bytes;
    }
    look_behind(end);
    if (end != aligned(end)) look_behind(aligned(end));
  }

  void look_behind(int64_t end) {
    if (end > file_bytes_ || file_bytes_ - end < static_cast<int64_t>(magic.size())) return;
    char next[magic.size()];
    read_(end, sizeof next, next);
    if (std::string_view(next, sizeof next) == magic) header_.another_file_follows = true;
  }

  GgufCursor cursor_;
  const ReadBytes& read_;
  int64_t file_bytes_;
  const std::string& what_;
  std::set<std::string> names_;  // of tensors
  GgufHeader header_;
};

}  // namespace

GgufHeader parse_gguf_header(const ReadBytes& read, int64_t file_bytes, const std::string& what) {
  return HeaderParser(read, file_bytes, what).parse();
}

GgufHeader read_gguf_header(int descriptor, const std::string& what) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0) {
    throw Error(ErrorCode::failed, fmt::format("{}: {}", what, std::strerror(errno)));
  }
  return parse_gguf_header([&](int64_t offset, int64_t bytes,
                               void* to) { read_exactly(descriptor, offset, bytes, to, what); },
                           status.st_size, what);
}

}  // namespace dure
