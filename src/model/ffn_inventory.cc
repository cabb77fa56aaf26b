// The weights of dense layers and mixtures, and where checkpoints keep them.
#include <fmt/format.h>

#include "model/weight_lister.h"

namespace dure {
namespace {

// What gate, up and down of one feed-forward part are called, and what they are.
struct GatedParts {
  Part gate = Part::gate;
  Part up = Part::up;
  Part down = Part::down;
};

class FfnLister {
 public:
  FfnLister(WeightLister& lister, const ModelSpec& spec)
      : lister_(lister),
        names_(spec.names),
        hidden_(spec.hidden),
        vocab_(spec.vocab),
        are_turned_(spec.quantization == "mxfp4") {}

  void list(const DenseFfn& ffn) {
    const std::string& block = names_.dense_block;
    const int64_t width = ffn.intermediate;
    if (names_.fused_gate_up) {
      const std::string name = block + ".gate_up_proj.weight";
      for (const Part part : {Part::gate, Part::up}) {
        lister_.add_part(name, part, Split::columns, {width, hidden_}, {2 * width, hidden_},
                         {.offset = part == Part::up ? width * hidden_ : 0, .row_stride = hidden_});
      }
      lister_.add(block + ".down_proj.weight", Part::down, Split::rows, {hidden_, width});
    } else {
      list_dense(ffn, {});
    }
    if (!ffn.bias) return;
    lister_.add(block + ".gate_proj.bias", Part::gate_bias, Split::columns, {width});
    lister_.add(block + ".up_proj.bias", Part::up_bias, Split::columns, {width});
    lister_.add(block + ".down_proj.bias", Part::down_bias, Split::replicated, {hidden_});
  }

  void list(const MoeFfn& moe) {
    const std::string block = names_.moe_block.empty() ? "" : names_.moe_block + ".";
    if (moe.beside) list_beside(*moe.beside);
    list_router(moe, block);
    list_latent(moe, block);
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
    if (moe.shared) list_shared(moe, block);
  }

  void list(std::monostate) {}

 private:
  void list_dense(const DenseFfn& ffn, const GatedParts& parts) {
    const std::string& block = names_.dense_block;
    const int64_t width = ffn.intermediate;
    if (ffn.activation.has_gate()) {
      lister_.add(block + ".gate_proj.weight", parts.gate, Split::columns, {width, hidden_});
    }
    lister_.add(block + ".up_proj.weight", parts.up, Split::columns, {width, hidden_});
    lister_.add(block + ".down_proj.weight", parts.down, Split::rows, {hidden_, width});
  }

  // The layer's own norm is before the dense part.
  void list_beside(const DenseFfn& dense) {
    list_dense(dense, {Part::beside_gate, Part::beside_up, Part::beside_down});
    lister_.norm(names_.after_beside_norm, Part::after_beside_norm, hidden_);
    lister_.norm(names_.experts_norm, Part::experts_norm, hidden_);
    lister_.norm(names_.after_experts_norm, Part::after_experts_norm, hidden_);
  }

  void list_router(const MoeFfn& moe, const std::string& block) {
    const std::string router = block + names_.router;
    lister_.add(router + ".weight", Part::router, Split::replicated, {moe.experts, hidden_});
    if (moe.router.bias) {
      lister_.add(router + ".bias", Part::router_bias, Split::replicated, {moe.experts});
    }
    if (moe.router.by_token) {
      // Numbers of experts, not weights, but as many bytes of a checkpoint.
      lister_.add(router + ".tid2eid", Part::expert_table, Split::replicated, {vocab_, moe.top_k});
    }
    if (moe.router.correction) {
      lister_.add_f32(block + names_.correction, Part::router_correction, {moe.experts});
    }
    if (moe.router.input_norm) {
      lister_.add(block + "router.scale", Part::router_scale, Split::replicated, {hidden_});
    }
    if (moe.router.expert_scale) {
      lister_.add(block + "router.per_expert_scale", Part::expert_scale, Split::replicated,
                  {moe.experts});
    }
  }

  void list_latent(const MoeFfn& moe, const std::string& block) {
    if (!moe.latent) return;
    const int64_t width = moe.latent->width;
    lister_.add(block + names_.latent_in + ".weight", Part::latent_in, Split::replicated,
                {width, hidden_});
    lister_.add(block + names_.latent_out + ".weight", Part::latent_out, Split::replicated,
                {hidden_, width});
    if (moe.latent->norm) lister_.norm(block + names_.latent_norm, Part::latent_norm, width);
  }

  int64_t expert_inputs(const MoeFfn& moe) const {
    return moe.latent ? moe.latent->width : hidden_;
  }

  void list_separate(const MoeFfn& moe, const std::string& expert) {
    const int64_t inputs = expert_inputs(moe);
    if (moe.activation.has_gate()) {
      lister_.add(expert + names_.gate_proj + ".weight", Part::gate, Split::columns,
                  {moe.intermediate, inputs});
    }
    lister_.add(expert + names_.up_proj + ".weight", Part::up, Split::columns,
                {moe.intermediate, inputs});
    lister_.add(expert + names_.down_proj + ".weight", Part::down, Split::rows,
                {inputs, moe.intermediate});
  }

  // Expert e of tensors that hold all of them.
  void list_stacked(const MoeFfn& moe, const std::string& block, int64_t e) {
    const int64_t width = moe.intermediate;
    const int64_t inputs = expert_inputs(moe);
    const bool by_inputs = names_.experts != ExpertStorage::stacked_out_in && !are_turned_;
    const bool alternating = names_.experts == ExpertStorage::interleaved_in_out;
    const std::string gate_up = block + names_.stacked_gate_up;
    const std::string down = block + names_.stacked_down;
    const int64_t step = alternating ? 2 : 1;          // from one gate output to the next
    const int64_t up_first = alternating ? 1 : width;  // the first output of up
    for (const Part part : {Part::gate, Part::up}) {
      const int64_t first = part == Part::up ? up_first : 0;
      WeightView view;
      view.offset = e * 2 * width * inputs + first * (by_inputs ? 1 : inputs);
      view.row_stride = by_inputs ? step : step * inputs;
      view.column_stride = by_inputs ? 2 * width : 1;
      lister_.add_part(gate_up, part, Split::columns, {width, inputs},
                       by_inputs ? std::vector{moe.experts, inputs, 2 * width}
                                 : std::vector{moe.experts, 2 * width, inputs},
                       view);
      if (moe.bias) {
        lister_.add_part(gate_up + "_bias", part == Part::up ? Part::up_bias : Part::gate_bias,
                         Split::columns, {width}, {moe.experts, 2 * width},
                         {.offset = e * 2 * width + first, .row_stride = step});
      }
    }
    WeightView view;
    view.offset = e * inputs * width;
    view.row_stride = by_inputs ? 1 : width;
    view.column_stride = by_inputs ? inputs : 1;
    lister_.add_part(down, Part::down, Split::rows, {inputs, width},
                     by_inputs ? std::vector{moe.experts, width, inputs}
                               : std::vector{moe.experts, inputs, width},
                     view);
  }

  void list_shared(const MoeFfn& moe, const std::string& block) {
    const std::string name = block + names_.shared + ".";
    const int64_t width = moe.shared->intermediate;
    const bool alike = names_.shared_as_experts;
    const std::string gate = alike ? names_.gate_proj : "gate_proj";
    const std::string up = alike ? names_.up_proj : "up_proj";
    const std::string down = alike ? names_.down_proj : "down_proj";
    if (moe.activation.has_gate()) {
      lister_.add(name + gate + ".weight", Part::shared_gate, Split::columns, {width, hidden_});
    }
    lister_.add(name + up + ".weight", Part::shared_up, Split::columns, {width, hidden_});
    lister_.add(name + down + ".weight", Part::shared_down, Split::rows, {hidden_, width});
    if (moe.shared->gated) {
      lister_.add(block + names_.shared + "_gate.weight", Part::shared_router, Split::replicated,
                  {1, hidden_});
    }
  }

  WeightLister& lister_;
  const WeightNames& names_;
  int64_t hidden_;
  int64_t vocab_;
  // Blocks of this format are runs of inputs: releases hold outputs by inputs, whatever they do
  // unquantized.
  bool are_turned_;
};

}  // namespace

void list_ffn(WeightLister& lister, const ModelSpec& spec, const FfnSpec& ffn) {
  std::visit([&](const auto& kind) { FfnLister(lister, spec).list(kind); }, ffn);
}

}  // namespace dure
