// Helpers of the tests that read configs: small ones in the form of released ones, and parts of
// what becomes of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "model/spec.h"

namespace dure::testing {

Json config_of(const std::string& name);  // testdata/configs/families/<name>.json
ModelSpec parse(const Json& config);
ModelSpec spec_of(const std::string& name);  // of config_of

const GqaSpec& gqa(const ModelSpec& spec, size_t layer = 0);
const MlaSpec& mla(const ModelSpec& spec, size_t layer = 0);
const MoeFfn& moe(const ModelSpec& spec, size_t layer);
std::vector<int64_t> windows(const ModelSpec& spec);  // of each layer; 0: none

}  // namespace dure::testing
