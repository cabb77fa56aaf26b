// The weights of dense layers and mixtures, and where checkpoints keep them.
#include <fmt/format.h>

#include "model/weight_lister.h"

namespace dure {
namespace {

class FfnLister {
 public:
  FfnLister(WeightLister& lister, const ModelSpec& spec)
      : lister_(lister), names_(spec.names), hidden_(spec.hidden) {}

  void list(const DenseFfn& ffn) {
    const std::string& block = names_.dense_block;
    const int64_t width = ffn.intermediate;
    if (names_.fused_gate_up) {
      const std::string name = block + ".gate_up_proj.weight";
      for (const Part part : {Part::gate, Part::up}) {
        lister_.add_part(name, part, Split::columns, {width, hidden_}, {2 * width, hidden_},
                         {.offset = part == Part::up ? width * hidden_ : 0, .row_stride = hidden_});
      }
    } else {
      lister_.add(block + ".gate_proj.weight", Part::gate, Split::columns, {width, hidden_});
      lister_.add(block + ".up_proj.weight", Part::up, Split::columns, {width, hidden_});
    }
    lister_.add(block + ".down_proj.weight", Part::down, Split::rows, {hidden_, width});
    if (!ffn.bias) return;
    lister_.add(block + ".gate_proj.bias", Part::gate_bias, Split::columns, {width});
    lister_.add(block + ".up_proj.bias", Part::up_bias, Split::columns, {width});
    lister_.add(block + ".down_proj.bias", Part::down_bias, Split::replicated, {hidden_});
  }

  void list(const MoeFfn& moe) {
    const std::string block = names_.moe_block + ".";
    const std::string router = block + names_.router;
    lister_.add(router + ".weight", Part::router, Split::replicated, {moe.experts, hidden_});
    if (moe.router.bias) {
      lister_.add(router + ".bias", Part::router_bias, Split::replicated, {moe.experts});
    }
    if (moe.router.correction) {
      Weight& weight = lister_.add(block + names_.correction, Part::router_correction,
                                   Split::replicated, {moe.experts});
      weight.dtype = DType::f32;
    }
    for (int64_t e = 0; e < moe.experts; ++e) {
      lister_.of_expert(e);
      if (names_.experts == ExpertStorage::separate) {
        list_separate(moe, fmt::format("{}experts.{}.", block, e));
      } else {
        list_stacked(moe, block, e);
      }
    }
    lister_.of_expert(-1);
    if (moe.bias) {
      lister_.add(block + names_.stacked_down + "_bias", Part::expert_down_bias, Split::replicated,
                  {moe.experts, hidden_});
    }
    if (moe.shared) list_shared(*moe.shared, block);
  }

 private:
  void list_separate(const MoeFfn& moe, const std::string& expert) {
    lister_.add(expert + names_.gate_proj + ".weight", Part::gate, Split::columns,
                {moe.intermediate, hidden_});
    lister_.add(expert + names_.up_proj + ".weight", Part::up, Split::columns,
                {moe.intermediate, hidden_});
    lister_.add(expert + names_.down_proj + ".weight", Part::down, Split::rows,
                {hidden_, moe.intermediate});
  }

  // Expert e of tensors that hold all of them.
  void list_stacked(const MoeFfn& moe, const std::string& block, int64_t e) {
    const int64_t width = moe.intermediate;
    const bool by_inputs = names_.experts != ExpertStorage::stacked_out_in;
    const bool alternating = names_.experts == ExpertStorage::interleaved_in_out;
    const std::string gate_up = block + names_.stacked_gate_up;
    const std::string down = block + names_.stacked_down;
    const int64_t step = alternating ? 2 : 1;          // from one gate output to the next
    const int64_t up_first = alternating ? 1 : width;  // the first output of up
    for (const Part part : {Part::gate, Part::up}) {
      const int64_t first = part == Part::up ? up_first : 0;
      WeightView view;
      view.offset = e * 2 * width * hidden_ + first * (by_inputs ? 1 : hidden_);
      view.row_stride = by_inputs ? step : hidden_;
      view.column_stride = by_inputs ? 2 * width : 1;
      lister_.add_part(gate_up, part, Split::columns, {width, hidden_},
                       by_inputs ? std::vector{moe.experts, hidden_, 2 * width}
                                 : std::vector{moe.experts, 2 * width, hidden_},
                       view);
      if (moe.bias) {
        lister_.add_part(gate_up + "_bias", part == Part::up ? Part::up_bias : Part::gate_bias,
                         Split::columns, {width}, {moe.experts, 2 * width},
                         {.offset = e * 2 * width + first, .row_stride = step});
      }
    }
    WeightView view;
    view.offset = e * hidden_ * width;
    view.row_stride = by_inputs ? 1 : width;
    view.column_stride = by_inputs ? hidden_ : 1;
    lister_.add_part(down, Part::down, Split::rows, {hidden_, width},
                     by_inputs ? std::vector{moe.experts, width, hidden_}
                               : std::vector{moe.experts, hidden_, width},
                     view);
  }

  void list_shared(const SharedExpert& shared, const std::string& block) {
    const std::string name = block + names_.shared + ".";
    const int64_t width = shared.intermediate;
    lister_.add(name + "gate_proj.weight", Part::shared_gate, Split::columns, {width, hidden_});
    lister_.add(name + "up_proj.weight", Part::shared_up, Split::columns, {width, hidden_});
    lister_.add(name + "down_proj.weight", Part::shared_down, Split::rows, {hidden_, width});
    if (shared.gated) {
      lister_.add(block + names_.shared + "_gate.weight", Part::shared_router, Split::replicated,
                  {1, hidden_});
    }
  }

  WeightLister& lister_;
  const WeightNames& names_;
  int64_t hidden_;
};

}  // namespace

void list_ffn(WeightLister& lister, const ModelSpec& spec, const FfnSpec& ffn) {
  std::visit([&](const auto& kind) { FfnLister(lister, spec).list(kind); }, ffn);
}

}  // namespace dure
