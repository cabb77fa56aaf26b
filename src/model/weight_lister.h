// Collects the inventory: where it stands in the checkpoint (a prefix, a layer, an expert, a head)
// is state, what is added is one weight.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/inventory.h"

namespace dure {

class WeightLister {
 public:
  explicit WeightLister(const ModelSpec& spec) : spec_(spec) {}

  void enter(std::string prefix, int layer = -1) {
    prefix_ = std::move(prefix);
    layer_ = layer;
  }
  void of_expert(int64_t expert) { expert_ = static_cast<int>(expert); }  // -1: of none
  void of_head(int64_t head) { head_ = static_cast<int>(head); }          // -1: of none

  // A weight that is a tensor of its own. Vectors have one dimension.
  Weight& add(std::string_view name, Part part, Split split, std::vector<int64_t> shape);
  // The same, kept in fp32 and whole on every rank.
  Weight& add_f32(std::string_view name, Part part, std::vector<int64_t> shape);
  // A weight that is some of a tensor of shape `tensor`.
  Weight& add_part(std::string_view name, Part part, Split split, std::vector<int64_t> shape,
                   std::vector<int64_t> tensor, WeightView view);
  // <name>.weight: [width], which the model may store minus one.
  void norm(std::string_view name, Part part, int64_t width, Split split = Split::replicated);

  std::vector<Weight> take() { return std::move(weights_); }

 private:
  const ModelSpec& spec_;
  std::vector<Weight> weights_;
  std::string prefix_;
  int layer_ = -1;
  int expert_ = -1;
  int head_ = -1;
};

void list_attention(WeightLister& lister, const ModelSpec& spec, const AttentionSpec& attention);
// Each kind of it.
void list_kind(WeightLister& lister, const ModelSpec& spec, const GqaSpec& gqa);
void list_kind(WeightLister& lister, const ModelSpec& spec, const MlaSpec& mla);
void list_kind(WeightLister& lister, const ModelSpec& spec, const DeltaNetSpec& delta);
void list_kind(WeightLister& lister, const ModelSpec& spec, const Mamba2Spec& mamba);
void list_kind(WeightLister& lister, const ModelSpec& spec, const CompressedSpec& compressed);
void list_ffn(WeightLister& lister, const ModelSpec& spec, const FfnSpec& ffn);

}  // namespace dure
