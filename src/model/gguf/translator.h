// Collects a config.json from a GGUF file's metadata. What stands for a key of config.json keeps
// its name in the file, so that whatever the family refuses is said in the file's words; and a
// setting of the architecture that nothing asked for is an error, as it is in config.json.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>

#include "base/json.h"
#include "gguf/gguf_model.h"
#include "model/load_spec.h"

namespace dure {

class GgufTranslator {
 public:
  // `document` and `spelled` are filled; suffixes below are what stands behind "<architecture>.".
  GgufTranslator(const GgufModel& model, std::string architecture, Json& document,
                 KeyNames& spelled);

  const GgufModel& model() const { return model_; }
  const GgufMetadata& metadata() const { return model_.metadata; }
  std::string key(std::string_view suffix) const;
  // Keys that count as read, and their value, if there is one.
  std::optional<int64_t> integer(std::string_view suffix);
  int64_t required_integer(std::string_view suffix);
  std::optional<double> number(std::string_view suffix);
  std::optional<bool> boolean(std::string_view suffix);
  std::string text_or(std::string_view suffix, std::string otherwise);
  bool has(std::string_view suffix) const { return metadata().has(key(suffix)); }

  // config_key of the document is that value. One integer may be a list of equal ones, one a layer.
  void size(std::string_view config_key, std::string_view suffix);           // required
  void optional_size(std::string_view config_key, std::string_view suffix);  // if there is one
  void optional_number(std::string_view config_key, std::string_view suffix);
  void set(std::string_view config_key, const Json& value);
  // Takes the value that the file gives under `suffix`, so that it is spelled so in errors.
  void set_as(std::string_view config_key, std::string_view suffix, const Json& value);

  // A setting that changes nothing here; one that is supported with these values only.
  void ignore(std::initializer_list<std::string_view> suffixes);
  void only_integer(std::string_view suffix, std::initializer_list<int64_t> values);
  void only_number(std::string_view suffix, std::initializer_list<double> values);
  void only_boolean(std::string_view suffix, bool value);

  // Outermost size of a tensor that must be there.
  int64_t rows_of(std::string_view tensor) const;
  // Refuses what nobody asked for.
  void finish() const;
  [[noreturn]] void fail(std::string_view suffix, std::string_view problem,
                         std::string hint = "") const;

 private:
  const GgufModel& model_;
  std::string prefix_;
  Json& document_;
  KeyNames& spelled_;
  std::set<std::string, std::less<>> read_;
};

}  // namespace dure
