// The named values of a GGUF file ("llama.block_count"), asked for by kind and range: what a value
// is not, the error says with file and key.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace dure {

// Integers of every width and sign are one kind; above 2^63 they are as good as fractions. fp32 and
// fp64 are one kind too.
using GgufValue = std::variant<bool, int64_t, double, std::string, std::vector<bool>,
                               std::vector<int64_t>, std::vector<double>, std::vector<std::string>>;

class GgufMetadata {
 public:
  // `what`: the file, for errors.
  explicit GgufMetadata(std::string what = "") : what_(std::move(what)) {}

  // False if there is one of that name.
  bool add(std::string key, GgufValue value);

  const std::string& what() const { return what_; }
  bool has(std::string_view key) const { return find(key) != nullptr; }
  const std::map<std::string, GgufValue, std::less<>>& values() const { return values_; }

  // Ranges are inclusive. Each throws bad_input where the value is of another kind or out of range,
  // and, those that return no optional, where there is none.
  std::string text(std::string_view key) const;
  std::optional<std::string> optional_text(std::string_view key) const;
  int64_t integer(std::string_view key, int64_t least, int64_t most) const;
  std::optional<int64_t> optional_integer(std::string_view key, int64_t least, int64_t most) const;
  double number(std::string_view key, double least, double most) const;
  std::optional<double> optional_number(std::string_view key, double least, double most) const;
  std::optional<bool> optional_boolean(std::string_view key) const;
  // Empty where there is none.
  const std::vector<std::string>& texts(std::string_view key) const;
  std::vector<int64_t> integers(std::string_view key, int64_t least, int64_t most) const;
  std::vector<double> numbers(std::string_view key) const;  // finite
  // One integer, or a list of `entries` that are all the same.
  std::optional<int64_t> same_integer(std::string_view key, int64_t least, int64_t most,
                                      int64_t entries) const;

  [[noreturn]] void fail(std::string_view key, std::string_view problem,
                         std::string hint = "") const;

 private:
  const GgufValue* find(std::string_view key) const;
  [[noreturn]] void fail_kind(std::string_view key, std::string_view wanted) const;
  int64_t checked(std::string_view key, int64_t value, int64_t least, int64_t most) const;

  std::string what_;
  std::map<std::string, GgufValue, std::less<>> values_;
};

}  // namespace dure
