// The operations as plain loops: what every faster backend is tested against, and what runs on a
// CPU without AVX2. One thread. It obeys the order of sums that "kernels/sum_order.h" states, so
// that the vector backends give the same bits in everything but exp, and dpbf16ps.
#pragma once

#include "kernels/backend.h"

namespace dure {

class ReferenceBackend final : public Backend {
 public:
  std::string_view isa() const override { return "reference"; }
  bool has_fast_bf16() const override { return false; }
  int threads() const override { return 1; }

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
};

}  // namespace dure
