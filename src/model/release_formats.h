// In which numbers a released checkpoint stores which of its matrices: its quantization block, of
// whichever tool, as a list of rules. For memory and time on paper; no weight is read here.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/name_list.h"
#include "tensor/weight_format.h"

namespace dure {

struct FormatRule {
  NameList names;                      // empty: every linear layer that quantization tools look at
  bool experts_only = false;           // of these, routed experts
  bool head = false;                   // of these, the output head too
  std::optional<WeightFormat> format;  // nothing: left in the type of the config
};

struct ReleaseFormats {
  std::vector<FormatRule> rules;  // the first that lists a matrix holds; none: left as it is
  // What was not understood, and what it is counted as instead: a line each.
  std::vector<std::string> remarks;

  // That of the fewest bits, which a release is called by. Nothing: none is quantized.
  std::optional<WeightFormat> smallest() const;
};

class ConfigReader;

// Of a "quantization_config", or of the "quantization" of ModelOpt's own file; `method` is its
// quant_method or quant_algo. `expert_type` is what the config says beside it of routed experts
// ("fp4"), or empty. Throws bad_input naming the field where it is malformed.
ReleaseFormats read_release_formats(ConfigReader& block, const std::string& method,
                                    const std::string& expert_type);

}  // namespace dure
