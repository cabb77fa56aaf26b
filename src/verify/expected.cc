// See expected.h.
#include "verify/expected.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/read_exactly.h"
#include "model/safetensors.h"

namespace dure {
namespace {

class Record {
 public:
  explicit Record(const std::filesystem::path& file) : what_(file.string()) {
    std::error_code ignored;
    if (std::filesystem::is_regular_file(file, ignored)) {  // a pipe would be waited for
      descriptor_ = Descriptor(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    }
    if (!descriptor_) {
      throw_bad_input(fmt::format("{}: the recorded outputs cannot be read", what_),
                      "give the file with --expected");
    }
    entries_ = read_safetensors_header(descriptor_.get(), what_);
  }

  const SafetensorsEntry* find(const std::string& name) const {
    const auto entry =
        std::find_if(entries_.begin(), entries_.end(),
                     [&](const SafetensorsEntry& each) { return each.name == name; });
    return entry == entries_.end() ? nullptr : &*entry;
  }

  // T is float (F32) or int32_t (I32, or I64 whose values fit).
  template <class T>
  std::vector<T> read(const std::string& name, const std::vector<int64_t>& shape) const {
    const SafetensorsEntry* entry = find(name);
    if (entry == nullptr) throw_bad_input(fmt::format("{}: no tensor {}", what_, name));
    if (entry->shape != shape) {
      throw_bad_input(fmt::format("{}: {} has shape [{}] where [{}] was expected", what_, name,
                                  fmt::join(entry->shape, ", "), fmt::join(shape, ", ")));
    }
    if constexpr (std::is_same_v<T, int32_t>) {
      if (entry->dtype == "I64") {
        const auto wide = values<int64_t>(*entry);
        if (std::any_of(wide.begin(), wide.end(), [](int64_t x) { return x != int32_t(x); })) {
          throw_bad_input(fmt::format("{}: {} has a value beyond 32 bits", what_, name));
        }
        return {wide.begin(), wide.end()};
      }
    }
    const char* type = std::is_same_v<T, float> ? "F32" : "I32";
    if (entry->dtype != type) {
      throw_bad_input(
          fmt::format("{}: {} is {} where {} was expected", what_, name, entry->dtype, type));
    }
    return values<T>(*entry);
  }

  // Infinite where there was nothing to choose.
  std::vector<float> read_margins(const std::string& name,
                                  const std::vector<int64_t>& shape) const {
    std::vector<float> margins = read<float>(name, shape);
    all(name, margins, [](float x) { return x >= 0.0f; });
    return margins;
  }

  // Refuses a record that something else than this was written into.
  void all(const std::string& name, const std::vector<float>& values,
           bool (*is_right)(float)) const {
    const auto wrong = std::find_if_not(values.begin(), values.end(), is_right);
    if (wrong == values.end()) return;
    throw_bad_input(
        fmt::format("{}: {} holds {} at {}", what_, name, *wrong, wrong - values.begin()),
        "the record is damaged: nothing can be compared with it");
  }

  // The one-dimensional length of a tensor.
  int64_t length(const std::string& name, size_t dimension = 0) const {
    const SafetensorsEntry* entry = find(name);
    if (entry == nullptr || entry->shape.size() <= dimension) {
      throw_bad_input(
          fmt::format("{}: no tensor {} of {} dimensions or more", what_, name, dimension + 1));
    }
    return entry->shape[dimension];
  }

 private:
  template <class T>
  std::vector<T> values(const SafetensorsEntry& entry) const {
    std::vector<T> data(static_cast<size_t>(entry.bytes) / sizeof(T));
    read_exactly(descriptor_.get(), entry.offset, entry.bytes, data.data(), what_);
    return data;
  }

  std::string what_;
  Descriptor descriptor_;
  std::vector<SafetensorsEntry> entries_;
};

}  // namespace

Expected read_expected(const std::filesystem::path& file) {
  const Record record(file);
  Expected expected;
  if (record.find("router_layers") != nullptr) {
    expected.router_layers =
        record.read<int32_t>("router_layers", {record.length("router_layers")});
  }
  const auto layers = static_cast<int64_t>(expected.router_layers.size());
  for (int i = 0; record.find(fmt::format("p{}.input_ids", i)) != nullptr; ++i) {
    ExpectedPrompt prompt;
    prompt.name = fmt::format("p{}", i);
    const auto tensor = [&](const char* part) { return prompt.name + "." + part; };
    const int64_t n = record.length(tensor("input_ids"));
    if (n < 1) throw_bad_input(fmt::format("{}: {} has no tokens", file.string(), prompt.name));
    const int64_t steps = record.length(tensor("greedy"));
    prompt.input_ids = record.read<int32_t>(tensor("input_ids"), {n});
    prompt.logits = record.read<float>(tensor("logits"), {n, record.length(tensor("logits"), 1)});
    record.all(tensor("logits"), prompt.logits, [](float x) { return std::isfinite(x); });
    prompt.greedy = record.read<int32_t>(tensor("greedy"), {steps});
    prompt.greedy_margin = record.read_margins(tensor("greedy_margin"), {steps});
    if (layers > 0) {
      expected.top_k = record.length(tensor("router_topk_ids"), 2);
      const std::vector<int64_t> shape = {layers, n, expected.top_k};
      prompt.router_ids = record.read<int32_t>(tensor("router_topk_ids"), shape);
      prompt.router_weights = record.read<float>(tensor("router_weights"), shape);
      prompt.router_margin.assign(static_cast<size_t>(layers * n),
                                  std::numeric_limits<float>::infinity());
      if (record.find(tensor("router_margin")) != nullptr) {
        prompt.router_margin = record.read_margins(tensor("router_margin"), {layers, n});
      }
    }
    if (record.find(tensor("index_margin")) != nullptr) {
      const std::vector<int64_t> shape = {record.length(tensor("index_margin")), n};
      prompt.index_margin = record.read_margins(tensor("index_margin"), shape);
    }
    expected.prompts.push_back(std::move(prompt));
  }
  if (expected.prompts.empty()) {
    throw_bad_input(fmt::format("{}: no recorded prompts (p0.input_ids, …)", file.string()));
  }
  return expected;
}

}  // namespace dure
