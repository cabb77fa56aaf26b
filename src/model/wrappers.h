// Checkpoints that wrap a language model together with parts for other modalities: config.json
// keeps the language model's settings in `text_config`. Only the language model is read and run.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "model/config_reader.h"
#include "model/spec.h"

namespace dure {

struct Wrapper {
  std::string_view name;                      // model_type of the whole
  std::vector<std::string_view> text_types;   // model_type of text_config; the first is the default
  std::string_view body;                      // WeightNames::body of the language model
  std::string_view head;                      // WeightNames::head
  std::vector<std::string_view> other_parts;  // WeightNames::other_parts
  // Where the whole keeps experts in another way than the language model alone.
  std::optional<ExpertStorage> experts = std::nullopt;
};

std::span<const Wrapper> wrappers();
const Wrapper* wrapper_of(std::string_view model_type);  // nullptr: not one

// text_config with what it leaves to the outer object: types, end tokens, ties, quantization.
// Throws bad_input if there is none, or if both state one of these and differ; but the outer object
// may name more end tokens.
Json text_config_of(const Json& document, const std::string& what);

// Throws bad_input where the tower for images states another width of its outputs than the language
// model's.
void check_tower_width(ConfigReader& config, const ModelSpec& text);

// Marks the wrapper's own settings as known; the rest is for finish() to refuse.
void read_wrapper_keys(ConfigReader& config);

// What the reader of the text family could not know: where the wrapper keeps its tensors.
void apply_wrapper(const Wrapper& wrapper, WeightNames& names);

}  // namespace dure
