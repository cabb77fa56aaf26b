// Lists of modules, as quantization tools write them: a name or the end or middle of one in whole
// components ("lm_head", "mlp.gate"), a shell pattern ("model.layers.0*"), or a regular expression
// ("re:.*self_attn.*", matched from the beginning as Python's re.match does). A module's children
// are listed with it.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace dure {

class NamePattern;

class NameList {
 public:
  // False where `entry` is an expression with constructs that are not implemented: it lists
  // nothing. Work is linear in the lengths of entry and name.
  bool add(std::string_view entry);
  // `name` of a tensor ("model.layers.0.mlp.gate.weight").
  bool holds(std::string_view name) const;
  bool empty() const { return names_.empty() && globs_.empty() && patterns_.empty(); }
  // Whether some entry may tell one layer from another.
  bool tells_layers_apart() const { return tells_layers_apart_; }

 private:
  std::set<std::string, std::less<>> names_;
  std::vector<std::string> globs_;
  std::vector<std::shared_ptr<const NamePattern>> patterns_;
  bool tells_layers_apart_ = false;
};

}  // namespace dure
