// The backend for CPUs with AVX2 or AVX-512: splits each operation over threads, and calls the
// kernels of one instruction set (kernel_table.h) for the pieces. One caller at a time.
#pragma once

#include <string_view>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/backend.h"
#include "kernels/cpu/choose_experts.h"
#include "kernels/cpu/sample_row.h"
#include "kernels/cpu/vector/kernel_table.h"

namespace dure {

class VectorBackend final : public Backend {
 public:
  VectorBackend(std::string_view isa, const KernelTable& kernels, int threads);

  std::string_view isa() const override { return isa_; }
  bool has_fast_bf16() const override { return kernels_.matmul_bf16 != nullptr; }
  int threads() const override { return pool_.threads(); }

  void matmul(const float* x, int64_t rows, const PackedMatrix& w, const float* bias,
              Compute compute, float* out) override;
  void matmul_glu(const float* x, int64_t rows, const PackedMatrix& w, const float* gate_bias,
                  const float* up_bias, const Glu& glu, Compute compute, float* out) override;
  void grouped_matmul(const float* x, const ExpertRows& rows, std::span<const PackedMatrix> experts,
                      Compute compute, float* out) override;
  void grouped_matmul_glu(const float* x, const ExpertRows& rows,
                          std::span<const PackedMatrix> experts, const float* gate_bias,
                          const float* up_bias, const Glu& glu, Compute compute,
                          float* out) override;

  void rms_norm(const float* x, int64_t rows, int64_t width, int64_t stride, const float* w,
                float eps, float* out) override;
  void sum_squares(const float* x, int64_t rows, int64_t groups, int64_t width, int64_t stride,
                   float* sums) override;
  void scale_by_norm(float* x, int64_t rows, int64_t width, int64_t stride, const float* total,
                     float count, const float* w, float eps) override;
  void layer_norm(const float* x, int64_t rows, int64_t width, int64_t stride, const float* w,
                  const float* b, float eps, float* out) override;
  void rope(float* x, int64_t rows, int64_t heads, int64_t head_dim, int64_t stride,
            const int32_t* positions, const RopeTable& table) override;

  void kv_write(const float* k, int64_t k_stride, const float* v, int64_t v_stride,
                std::span<const AttentionSlice> slices, const KvLayer& cache) override;
  void attention(const float* q, int64_t q_stride, std::span<const AttentionSlice> slices,
                 const AttentionShape& shape, const KvLayer& cache, float* out) override;

  void latent_write(const float* rows, int64_t stride, std::span<const AttentionSlice> slices,
                    const LatentLayer& cache) override;
  void latent_attention(const float* q, int64_t q_stride, std::span<const AttentionSlice> slices,
                        const LatentShape& shape, const LatentLayer& cache, float* out) override;
  void index_scores(const float* q, int64_t q_stride, const float* weights, int64_t heads,
                    std::span<const AttentionSlice> slices, const LatentLayer& keys, float* scores,
                    int64_t stride) override;
  void select_keys(const float* scores, int64_t stride, std::span<const AttentionSlice> slices,
                   int64_t top_k, uint64_t* selected, int64_t words) override;

  void route(const float* logits, const float* correction, int64_t rows, const RouteShape& shape,
             int32_t* ids, float* weights) override;
  void embed(const void* table, DType dtype, int64_t first, int64_t count, int64_t hidden,
             std::span<const int32_t> ids, float* out) override;
  void add(float* x, const float* y, int64_t count) override;
  void scale(float* x, int64_t count, float factor) override;
  void softcap(float* x, int64_t count, float cap) override;
  void relu_squared(float* x, int64_t count) override;
  void scale_rows(float* x, const float* factor, int64_t rows, int64_t width) override;
  void multiply_by_sigmoid(float* x, const float* gate, int64_t rows, int64_t width,
                           int64_t x_stride, int64_t gate_stride) override;
  void multiply_by_silu(float* x, const float* gate, int64_t rows, int64_t width, int64_t x_stride,
                        int64_t gate_stride) override;
  void scale_rows_by_sigmoid(float* x, const float* gate, int64_t rows, int64_t width) override;
  void combine_experts(const float* partial, const int32_t* where, const float* weights,
                       const float* bias, const int32_t* ids, int64_t rows, int64_t top_k,
                       int64_t parts, int64_t width, float* out) override;

  void causal_conv(const float* x, int64_t stride, std::span<const StateSlice> slices,
                   const CausalConv& conv, const StateLayer& state, float* out) override;
  void gated_delta_rule(const DeltaRuleInput& input, std::span<const StateSlice> slices,
                        const DeltaRule& rule, const StateLayer& state, float* out) override;
  void ssm_scan(const SsmInput& input, std::span<const StateSlice> slices, const SsmScan& scan,
                const StateLayer& state, float* out) override;
  void gated_norm(const float* x, int64_t rows, int64_t stride, const float* z, int64_t z_stride,
                  const GatedNorm& norm, float* out) override;
  void sample(std::span<const SampleRow> rows, int64_t vocab, SampledRow* results) override;

 private:
  // What all four products are: groups of rows, each with its own matrix of one common shape.
  struct Product {
    const float* x = nullptr;
    const int32_t* source = nullptr;  // row of x for each row of out; null: the same
    const int32_t* begin = nullptr;   // [matrices + 1]: rows of out of each matrix
    std::span<const PackedMatrix> matrices;
    Compute compute = Compute::fp32;
    const float* bias = nullptr;  // [matrices, outputs] of plain panels, or of gate
    const float* up_bias = nullptr;
    Glu glu;  // of gate_up panels
    float* out = nullptr;

    int64_t row_of(int64_t out_row) const { return source != nullptr ? source[out_row] : out_row; }
  };
  struct Tile {
    int32_t matrix = 0;
    int32_t row = 0;  // first row of out
    int32_t rows = 0;
    int64_t x_offset = 0;  // bytes into packed_x_
  };
  struct Item {  // panels [panel, panel_end) times tiles [tile, tile_end) of one matrix
    int32_t matrix = 0;
    int32_t panel = 0;
    int32_t panel_end = 0;
    int32_t tile = 0;
    int32_t tile_end = 0;
  };
  struct Path;
  void multiply(const Product& product);
  Path path_of(const PackedShape& shape, Compute compute) const;
  void plan_pieces(const PackedShape& shape);
  void plan_tiles(const Product& product, const Path& path);
  void plan_items(const PackedShape& shape, const Path& path);
  void pack_tile(const Product& product, const Path& path, const Tile& tile);
  void run_item(const Product& product, const Path& path, const Item& item, int thread);

  // Matrices in blocks (vector_blocks.cc): a panel as others are resident, and what that takes
  // beside the panel.
  static int64_t block_scratch_bytes();
  const std::byte* made_panels(const PackedMatrix& matrix, int64_t first, int64_t count,
                               int64_t panel_bytes, int thread);
  void make_panel(const PackedMatrix& matrix, int64_t panel, std::byte* scratch,
                  std::byte* out) const;
  void make_panel_of_rows(const PackedMatrix& matrix, int64_t panel, std::byte* scratch,
                          std::byte* out) const;
  struct RowOfBlocks;
  static RowOfBlocks row_of_blocks(const PackedMatrix& matrix, Range inputs, int64_t output);
  void decode_row(const RowOfBlocks& row, int64_t chunk, DType type, float* values,
                  std::byte* to) const;
  void place_inputs(const std::byte* rows, int64_t at, int64_t from, int64_t count,
                    const PackedShape& shape, std::byte* segment) const;
  // And of codes whose scales lie apart (vector_strips.cc): where the panel is no strip of theirs,
  // its numbers are found one by one.
  bool make_panel_of_strip(const PackedMatrix& matrix, int64_t panel, std::byte* out) const;
  static void make_panel_of_numbers(const PackedMatrix& matrix, int64_t panel, std::byte* out);

  // A row of x as integers: [padded k] codes and room for a group, [groups] scales, [groups] sums.
  struct QuantizedRow {
    int8_t* codes = nullptr;
    float* scales = nullptr;
    int32_t* sums = nullptr;
  };
  QuantizedRow quantized_row(int64_t row) const;
  void quantize_rows(const Product& product, const PackedShape& shape);
  void gather_codes(const Product& product, const Tile& tile, int32_t sum_factor);

  struct AttentionItem {
    int32_t slice = 0;
    int32_t kv_head = 0;
    int32_t token = 0;  // first query token of the slice
    int32_t tokens = 0;
    int32_t head = 0;  // first of heads_by_kv_; in latent attention the head itself
    int32_t heads = 0;
  };
  struct SliceRow {
    int32_t slice = 0;
    int32_t token = 0;
  };
  void list_slice_rows(std::span<const AttentionSlice> slices);
  void plan_attention(std::span<const AttentionSlice> slices, const AttentionShape& shape,
                      int64_t kv_heads);
  void plan_latent(std::span<const AttentionSlice> slices, int64_t heads);
  struct IndexItem {
    int32_t slice = 0;
    int32_t token = 0;
    int64_t begin = 0;  // first key
  };

  struct StateItem {
    int32_t slice = 0;
    int32_t head = 0;   // of a convolution: its chunk of channels
    int32_t panel = 0;  // panels [panel, panel_end) of the head's state
    int32_t panel_end = 0;
  };
  void plan_state(std::span<const StateSlice> slices, int64_t heads, int64_t panels);

  // Calls fn(row, thread) for all rows, in chunks that are worth a thread's while.
  template <class Function>
  void each_row_of_thread(int64_t rows, int64_t elements_per_row, const Function& fn) {
    constexpr int64_t elements_per_chunk = 16384;
    const int64_t chunk = elements_per_row >= elements_per_chunk
                              ? 1
                              : elements_per_chunk / (elements_per_row > 0 ? elements_per_row : 1);
    pool_.run((rows + chunk - 1) / chunk, [&](int64_t index, int thread) {
      const int64_t end = (index + 1) * chunk < rows ? (index + 1) * chunk : rows;
      for (int64_t row = index * chunk; row < end; ++row) fn(row, thread);
    });
  }
  template <class Function>
  void each_row(int64_t rows, int64_t elements_per_row, const Function& fn) {
    each_row_of_thread(rows, elements_per_row, [&](int64_t row, int) { fn(row); });
  }

  // Calls fn(begin, end) for pieces of [0, count).
  template <class Function>
  void each_piece(int64_t count, const Function& fn) {
    constexpr int64_t piece = 16384;
    pool_.run((count + piece - 1) / piece, [&](int64_t index, int) {
      fn(index * piece, (index + 1) * piece < count ? (index + 1) * piece : count);
    });
  }

  // At least `bytes` of memory, kept from call to call; contents are lost when it grows.
  static std::byte* reserve(AlignedBuffer& buffer, int64_t bytes);

  std::string_view isa_;
  KernelTable kernels_;
  ThreadPool pool_;

  AlignedBuffer packed_x_;
  std::vector<AlignedBuffer> thread_scratch_;  // [threads]
  std::vector<AlignedBuffer> thread_panels_;   // [threads]: made of blocks, and what that takes
  std::vector<RouteScratch> route_scratch_;    // [threads]
  std::vector<SampleScratch> sample_scratch_;  // [threads]
  std::vector<Tile> tiles_;
  std::vector<Item> items_;
  std::vector<int64_t> steps_;        // of each segment; of codes: groups
  std::vector<int64_t> pack_inputs_;  // of each piece of x that is padded on its own
  CodeGroups code_groups_;
  std::vector<int32_t> group_steps_;
  AlignedBuffer quantized_x_;
  int64_t quantized_codes_ = 0;  // bytes of a row's codes, with their room
  int64_t quantized_row_bytes_ = 0;
  std::vector<AttentionItem> attention_items_;
  std::vector<IndexItem> index_items_;
  std::vector<SliceRow> slice_rows_;  // all rows of all slices
  std::vector<int32_t> heads_by_kv_;  // query heads, those of one kv head together
  std::vector<StateItem> state_items_;
  std::vector<int32_t> slices_by_tokens_;
};

}  // namespace dure
