// The weights of each kind of attention, and where checkpoints keep them.
#include <fmt/format.h>

#include <type_traits>

#include "model/weight_lister.h"

namespace dure {
namespace {

class AttentionLister {
 public:
  AttentionLister(WeightLister& lister, const ModelSpec& spec)
      : lister_(lister), names_(spec.names), hidden_(spec.hidden) {}

  void list(const GqaSpec& gqa) {
    const int64_t q = gqa.heads * gqa.head_dim;
    const int64_t k = gqa.kv_heads * gqa.head_dim;
    const int64_t v = gqa.kv_heads * gqa.v_head_dim;
    const int64_t out = gqa.heads * gqa.v_head_dim;
    if (names_.fused_qkv) {
      fused(Part::q, Split::q_heads, q, 0, q + k + v);
      fused(Part::k, Split::kv_heads, k, q, q + k + v);
      fused(Part::v, Split::kv_heads, v, q + k, q + k + v);
    } else {
      list_q(gqa, q, out);
      matrix("k_proj", Part::k, Split::kv_heads, k, hidden_);
      if (!gqa.values_are_keys) matrix("v_proj", Part::v, Split::kv_heads, v, hidden_);
    }
    matrix("o_proj", Part::o, Split::q_heads_input, hidden_, out);
    if (gqa.qkv_bias) {
      vector("q_proj.bias", Part::q_bias, Split::q_heads, q);
      vector("k_proj.bias", Part::k_bias, Split::kv_heads, k);
      vector("v_proj.bias", Part::v_bias, Split::kv_heads, v);
    }
    // Added once, after the partial sums have met, so every rank holds all of it.
    if (gqa.o_bias) vector("o_proj.bias", Part::o_bias, Split::replicated, hidden_);
    if (gqa.sinks) vector(names_.sinks, Part::sinks, Split::q_heads, gqa.heads);
    if (gqa.qk_norm == QkNorm::per_head) {
      norm(names_.q_norm, Part::q_norm, gqa.head_dim);
      norm(names_.k_norm, Part::k_norm, gqa.head_dim);
    } else if (gqa.qk_norm == QkNorm::whole) {
      norm(names_.q_norm, Part::q_norm, q, Split::q_heads);
      norm(names_.k_norm, Part::k_norm, k, Split::kv_heads);
    }
    if (gqa.block_indexer) list_block_indexer(*gqa.block_indexer);
  }

  void list(const MlaSpec& mla) {
    const int64_t q_inputs = mla.q_rank.value_or(hidden_);
    if (mla.q_rank) {
      matrix("q_a_proj", Part::q_a, Split::replicated, *mla.q_rank, hidden_);
      if (mla.bias) vector("q_a_proj.bias", Part::q_a_bias, Split::replicated, *mla.q_rank);
      norm("q_a_layernorm", Part::q_a_norm, *mla.q_rank);
    }
    const char* q_name = mla.q_rank ? "q_b_proj" : "q_proj";
    by_head(q_name, Part::q_nope, mla.heads, mla.nope_dim, mla.rope_dim, q_inputs, 0);
    by_head(q_name, Part::q_rope, mla.heads, mla.rope_dim, mla.nope_dim, q_inputs, mla.nope_dim);
    const int64_t latent = mla.kv_rank + mla.rope_dim;
    matrix("kv_a_proj_with_mqa", Part::kv_a, Split::replicated, latent, hidden_);
    if (mla.bias) vector("kv_a_proj_with_mqa.bias", Part::kv_a_bias, Split::replicated, latent);
    norm("kv_a_layernorm", Part::kv_a_norm, mla.kv_rank);
    list_up(mla);
    matrix("o_proj", Part::o, Split::q_heads_input, hidden_, mla.heads * mla.v_dim);
    if (mla.bias) vector("o_proj.bias", Part::o_bias, Split::replicated, hidden_);
    if (mla.output_gate) {
      matrix("g_proj", Part::output_gate, Split::q_heads, mla.heads * mla.v_dim, hidden_);
    }
    if (const IndexerSpec* own = mla.own_indexer()) list_indexer(*own, q_inputs);
  }

 private:
  void matrix(std::string_view name, Part part, Split split, int64_t outputs, int64_t inputs) {
    lister_.add(fmt::format("{}.{}.weight", names_.attention, name), part, split,
                {outputs, inputs});
  }
  void vector(std::string_view name, Part part, Split split, int64_t width) {
    lister_.add(fmt::format("{}.{}", names_.attention, name), part, split, {width});
  }
  void norm(std::string_view name, Part part, int64_t width, Split split = Split::replicated) {
    lister_.norm(fmt::format("{}.{}", names_.attention, name), part, width, split);
  }
  void fused(Part part, Split split, int64_t outputs, int64_t first, int64_t all) {
    lister_.add_part(names_.attention + ".qkv_proj.weight", part, split, {outputs, hidden_},
                     {all, hidden_}, {.offset = first * hidden_, .row_stride = hidden_});
  }
  // Of each head's `rows + others` rows the `rows` from `first` on.
  void by_head(std::string_view name, Part part, int64_t heads, int64_t rows, int64_t others,
               int64_t inputs, int64_t first) {
    const int64_t block = rows + others;
    lister_.add_part(fmt::format("{}.{}.weight", names_.attention, name), part, Split::q_heads,
                     {heads * rows, inputs}, {heads * block, inputs},
                     {.offset = first * inputs,
                      .row_stride = inputs,
                      .block_rows = rows,
                      .block_stride = block * inputs});
  }

  // With an output gate each head's rows of q are followed by those of its gate.
  void list_q(const GqaSpec& gqa, int64_t q, int64_t out) {
    if (!gqa.output_gate) return matrix("q_proj", Part::q, Split::q_heads, q, hidden_);
    by_head("q_proj", Part::q, gqa.heads, gqa.head_dim, gqa.v_head_dim, hidden_, 0);
    by_head("q_proj", Part::output_gate, gqa.heads, out / gqa.heads, gqa.head_dim, hidden_,
            gqa.head_dim);
  }

  // kv_b_proj holds for each head the rows that make its keys, then those that make its values.
  // Keys are never made: the first are used from the other side, on q.
  void list_up(const MlaSpec& mla) {
    const std::string name = names_.attention + ".kv_b_proj.weight";
    const int64_t rows = mla.nope_dim + mla.v_dim;
    const std::vector<int64_t> tensor = {mla.heads * rows, mla.kv_rank};
    for (int64_t head = 0; head < mla.heads; ++head) {
      const int64_t first = head * rows * mla.kv_rank;
      lister_.of_head(head);
      lister_.add_part(name, Part::k_up, Split::one_head, {mla.kv_rank, mla.nope_dim}, tensor,
                       {.offset = first, .row_stride = 1, .column_stride = mla.kv_rank});
      lister_.add_part(name, Part::v_up, Split::one_head, {mla.v_dim, mla.kv_rank}, tensor,
                       {.offset = first + mla.nope_dim * mla.kv_rank, .row_stride = mla.kv_rank});
    }
    lister_.of_head(-1);
  }

  void list_indexer(const IndexerSpec& indexer, int64_t q_inputs) {
    matrix("indexer.wq_b", Part::index_q, Split::replicated, indexer.heads * indexer.head_dim,
           q_inputs);
    matrix("indexer.wk", Part::index_k, Split::replicated, indexer.head_dim, hidden_);
    vector("indexer.k_norm.weight", Part::index_k_norm, Split::replicated, indexer.head_dim);
    vector("indexer.k_norm.bias", Part::index_k_norm_bias, Split::replicated, indexer.head_dim);
    matrix("indexer.weights_proj", Part::index_weights, Split::replicated, indexer.heads, hidden_);
  }

  // One head of keys for all of q's.
  void list_block_indexer(const BlockIndexerSpec& indexer) {
    matrix("index_q_proj", Part::index_q, Split::replicated, indexer.heads * indexer.head_dim,
           hidden_);
    matrix("index_k_proj", Part::index_k, Split::replicated, indexer.head_dim, hidden_);
    norm("index_q_norm", Part::index_q_norm, indexer.head_dim);
    norm("index_k_norm", Part::index_k_norm, indexer.head_dim);
  }

  WeightLister& lister_;
  const WeightNames& names_;
  int64_t hidden_;
};

}  // namespace

void list_kind(WeightLister& lister, const ModelSpec& spec, const GqaSpec& gqa) {
  AttentionLister(lister, spec).list(gqa);
}

void list_kind(WeightLister& lister, const ModelSpec& spec, const MlaSpec& mla) {
  AttentionLister(lister, spec).list(mla);
}

void list_attention(WeightLister& lister, const ModelSpec& spec, const AttentionSpec& attention) {
  std::visit(
      [&](const auto& kind) {
        constexpr bool none = std::is_same_v<std::decay_t<decltype(kind)>, std::monostate>;
        if constexpr (!none) list_kind(lister, spec, kind);
      },
      attention);
}

}  // namespace dure
