// The weights of DeepSeek-V4's attention over a window and compressed keys, in the names of its
// releases.
#include "model/weight_lister.h"

namespace dure {
namespace {

void add_matrix(WeightLister& lister, const std::string& name, Part part, Split split,
                int64_t outputs, int64_t inputs) {
  lister.add(name + ".weight", part, split, {outputs, inputs});
}

// Keys of `width` out of runs of `ratio` tokens, of which each has a position of its own.
void list_compressor(WeightLister& lister, const ModelSpec& spec, const CompressedSpec& compressed,
                     const std::string& name, int64_t width) {
  const int64_t rows = compressed.overlap ? 2 * width : width;
  lister.add_f32(name + "ape", Part::compressor, {compressed.ratio, rows});
  add_matrix(lister, name + "wkv", Part::compressor, Split::replicated, rows, spec.hidden);
  add_matrix(lister, name + "wgate", Part::compressor, Split::replicated, rows, spec.hidden);
  lister.norm(name + "norm", Part::compressor, width);
}

}  // namespace

void list_kind(WeightLister& lister, const ModelSpec& spec, const CompressedSpec& compressed) {
  const std::string name = spec.names.attention + ".";
  const int64_t width = compressed.heads * compressed.head_dim;
  const int64_t out = compressed.o_groups * compressed.o_rank;
  add_matrix(lister, name + "wq_a", Part::q_a, Split::replicated, compressed.q_rank, spec.hidden);
  lister.norm(name + "q_norm", Part::q_a_norm, compressed.q_rank);
  add_matrix(lister, name + "wq_b", Part::q, Split::q_heads, width, compressed.q_rank);
  add_matrix(lister, name + "wkv", Part::k, Split::replicated, compressed.head_dim, spec.hidden);
  lister.norm(name + "kv_norm", Part::k_norm, compressed.head_dim);
  lister.add(name + "attn_sink", Part::sinks, Split::q_heads, {compressed.heads}).dtype =
      DType::f32;
  add_matrix(lister, name + "wo_a", Part::o_a, Split::columns, out, width / compressed.o_groups);
  add_matrix(lister, name + "wo_b", Part::o, Split::rows, spec.hidden, out);
  if (compressed.ratio == 0) return;
  list_compressor(lister, spec, compressed, name + "compressor.", compressed.head_dim);
  if (!compressed.indexer) return;
  const IndexerSpec& indexer = *compressed.indexer;
  const std::string index = name + "indexer.";
  add_matrix(lister, index + "wq_b", Part::index_q, Split::replicated,
             indexer.heads * indexer.head_dim, compressed.q_rank);
  add_matrix(lister, index + "weights_proj", Part::index_weights, Split::replicated, indexer.heads,
             spec.hidden);
  list_compressor(lister, spec, compressed, index + "compressor.", indexer.head_dim);
}

}  // namespace dure
