// config.json read strictly: every field has a type and a range, errors name file and field, and a
// key that nothing asked for is an error too, because a setting that is silently ignored is a model
// that silently computes something else.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"

namespace dure {

// Ranges of integers are inclusive.
struct IntRange {
  int64_t least = 1;
  int64_t most = 1 << 20;
};

// A view of one JSON object; the document must outlive it.
//
// An absent key takes its family's default. null is not the same: it means that there is nothing,
// so it is refused where the family needs a value, is false for a flag, and is as good as absent
// only where nothing is what the family assumes (optional_…, lists, objects, only_…).
class ConfigReader {
 public:
  // `what` is the file ("…/config.json"), `prefix` the path of this object inside it.
  // Throws bad_input if it is not an object.
  ConfigReader(const Json& object, std::string what, std::string prefix = "");

  // Whoever asks for `key` from here on is given what the file calls `name`, and errors say `name`:
  // for the keys of readers that families share.
  void spelled(std::string_view key, std::string_view name);

  bool has(std::string_view key) const;       // present and not null
  bool mentions(std::string_view key) const;  // present, perhaps null: some defaults differ
  // Refuses a file without `key`, where implementations of the family differ in what they assume.
  void require(std::string_view key) const;

  int64_t integer(std::string_view key, IntRange range);
  int64_t integer_or(std::string_view key, int64_t otherwise, IntRange range);
  std::optional<int64_t> optional_integer(std::string_view key, IntRange range);
  double number(std::string_view key, double least, double most);
  double number_or(std::string_view key, double otherwise, double least, double most);
  std::optional<double> optional_number(std::string_view key, double least, double most);
  bool boolean_or(std::string_view key, bool otherwise);  // null is false
  bool truth_or(std::string_view key, bool otherwise);    // a boolean, or a number: not zero
  std::string text(std::string_view key);
  std::string text_or(std::string_view key, std::string otherwise);
  std::string optional_text(std::string_view key);  // "" where it is absent
  std::vector<int64_t> integers_or_empty(std::string_view key, IntRange range, size_t most_entries);
  std::vector<std::string> texts_or_empty(std::string_view key, size_t most_entries);
  std::vector<double> numbers_or_empty(std::string_view key, double least, double most,
                                       size_t most_entries);
  // One integer or a list of them (eos_token_id).
  std::vector<int64_t> integer_or_list(std::string_view key, IntRange range, size_t most_entries);
  // One integer for all `layers`, or a list with one for each of them; empty: absent.
  std::vector<int64_t> integers_of_layers(std::string_view key, IntRange range, int64_t layers);
  std::optional<ConfigReader> object(std::string_view key);
  std::vector<ConfigReader> objects(std::string_view key, size_t most_entries);  // a list of them
  // Of an object whose keys are names: each name and the object under it, in the file's order.
  std::vector<std::pair<std::string, ConfigReader>> members(std::string_view key,
                                                            size_t most_entries);

  // Refuses any value but `expected`; absent is as good.
  void only_flag(std::string_view key, bool expected);
  void only_text(std::string_view key, std::string_view expected);
  void only_integer(std::string_view key, int64_t expected);
  // The same, or a list that repeats it for each of `layers`.
  void only_integer_of_layers(std::string_view key, int64_t expected, int64_t layers);
  // The choice of `names` that the key states, by its place there.
  size_t one_of(std::string_view key, std::string_view otherwise,
                std::initializer_list<std::string_view> names);
  void refuse(std::string_view key, std::string_view reason);  // unless absent or null
  void only_empty(std::string_view key);                       // a list or object without entries

  void ignore(std::string_view key);
  void ignore(std::initializer_list<std::string_view> keys);
  // Throws bad_input naming the first key that nobody read and that is not null.
  void finish() const;

  [[noreturn]] void fail(std::string_view key, std::string_view problem,
                         std::string hint = "") const;
  const std::string& what() const { return what_; }

 private:
  // How the file names it.
  std::string name_of(std::string_view key) const;
  std::string path_of(const std::string& name) const;  // in the file, from its top
  [[noreturn]] void fail_at(const std::string& name, std::string_view problem,
                            std::string hint) const;
  const Json* find(std::string_view key);        // nullptr: absent or null
  const Json* find_value(std::string_view key);  // nullptr: absent; refuses null
  const Json& need(std::string_view key);
  int64_t integer_of(std::string_view key, const Json& value, IntRange range) const;

  const Json& object_;
  std::string what_;
  std::string prefix_;
  std::map<std::string, std::string, std::less<>> names_;  // of the keys spelled otherwise
  std::set<std::string, std::less<>> used_;
};

}  // namespace dure
