// See vision_tower.h.
#include "model/vision_tower.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

namespace dure {
namespace {

// Sizes beyond these are no encoder's: they would only overflow.
int64_t size_of(const Json& object, std::initializer_list<const char*> keys) {
  constexpr int64_t most = 1 << 17;
  for (const char* key : keys) {
    const auto found = object.find(key);
    if (found != object.end() && found->is_number_integer()) {
      return std::clamp<int64_t>(found->get<int64_t>(), 0, most);
    }
  }
  return 0;
}

std::string type_of(const Json& object) {
  const auto found = object.find("model_type");
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace

int64_t vision_parameters(const Json& config) {
  if (!config.is_object()) return 0;
  const auto vision = config.find("vision_config");
  if (vision == config.end() || !vision->is_object()) return 0;
  const int64_t width = size_of(*vision, {"hidden_size"});
  const int64_t layers = size_of(*vision, {"num_hidden_layers", "depth"});
  const int64_t inner = size_of(*vision, {"intermediate_size"});
  const int64_t patch = size_of(*vision, {"patch_size"});
  const int64_t matrices = type_of(*vision) == "pixtral" ? 3 : 2;  // with a gate, or without
  const int64_t body = layers * (4 * width * width + matrices * width * inner);
  const int64_t patches = 3 * patch * patch * width;

  const auto text = config.find("text_config");
  const int64_t hidden =
      text != config.end() && text->is_object() ? size_of(*text, {"hidden_size"}) : 0;
  const auto layers_read = config.find("vision_feature_layer");
  const int64_t read = layers_read != config.end() && layers_read->is_array()
                           ? static_cast<int64_t>(std::min<size_t>(layers_read->size(), 64))
                           : 1;
  const bool one_matrix = type_of(config).starts_with("gemma");
  return body + patches + read * width * hidden + (one_matrix ? 0 : hidden * hidden);
}

}  // namespace dure
