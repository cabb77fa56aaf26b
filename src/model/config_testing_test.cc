// config_testing.h, whose JSON stays out of headers.
#include "model/config_testing.h"

#include <nlohmann/json.hpp>

#include "model/load_spec.h"
#include "model/testing.h"

namespace dure::testing {

Json config_of(const std::string& name) {
  return read_json_file(source_path("testdata/configs/families") / (name + ".json"));
}

ModelSpec parse(const Json& config) {
  return spec_from_config(config, "config.json");
}

ModelSpec spec_of(const std::string& name) {
  return parse(config_of(name));
}

const GqaSpec& gqa(const ModelSpec& spec, size_t layer) {
  return std::get<GqaSpec>(spec.layers.at(layer).attention);
}

const MlaSpec& mla(const ModelSpec& spec, size_t layer) {
  return std::get<MlaSpec>(spec.layers.at(layer).attention);
}

const MoeFfn& moe(const ModelSpec& spec, size_t layer) {
  return std::get<MoeFfn>(spec.layers.at(layer).ffn);
}

std::vector<int64_t> windows(const ModelSpec& spec) {
  std::vector<int64_t> all;
  for (size_t i = 0; i < spec.layers.size(); ++i) all.push_back(gqa(spec, i).window.value_or(0));
  return all;
}

}  // namespace dure::testing
