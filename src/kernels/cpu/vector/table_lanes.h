// Fills the kernel table of one instruction set. Include after one lanes_*.h and its code_ints_*.h.
#pragma once

#include "kernels/cpu/vector/attention_lanes.h"
#include "kernels/cpu/vector/block_lanes.h"
#include "kernels/cpu/vector/code_lanes.h"
#include "kernels/cpu/vector/conv_lanes.h"
#include "kernels/cpu/vector/glu_lanes.h"
#include "kernels/cpu/vector/index_lanes.h"
#include "kernels/cpu/vector/kernel_table.h"
#include "kernels/cpu/vector/latent_lanes.h"
#include "kernels/cpu/vector/matmul_lanes.h"
#include "kernels/cpu/vector/peak_lanes.h"
#include "kernels/cpu/vector/recurrent_lanes.h"
#include "kernels/cpu/vector/rows_lanes.h"

namespace dure {
namespace {

constexpr KernelTable table_of_lanes(const char* name) {
  KernelTable table;
  table.name = name;
  table.tile_rows = register_rows;
  table.matmul_fp32[0] = multiply<F32>;
  table.matmul_fp32[1] = multiply<Bf16>;
  table.matmul_fp32[2] = multiply<F16>;
  table.pack_fp32 = pack_rows_fp32<false>;
  table.pack_rounded = pack_rows_fp32<true>;
  table.pack_bf16 = pack_rows_bf16;
  table.matmul_codes[1] = multiply_coded<SignedDot, Q8>;
  table.matmul_codes[2] = multiply_coded<SignedDot, Q4>;
  table.matmul_codes_fp32[1] = multiply_coded_fp32<Q8>;
  table.matmul_codes_fp32[2] = multiply_coded_fp32<Q4>;
  table.code_tile_rows = code_rows;
  table.code_bias = SignedDot::bias;
  table.quantize_row = quantize_row;
  fill_decoders<OutFp32>(table.decode_fp32);
  fill_decoders<OutBf16>(table.decode_bf16);
  table.round_row = round_row;
  fill_strips<OutFp32>(table.strips_fp32);
  fill_strips<OutBf16>(table.strips_bf16);
  table.turn = turn;
  table.finish_plain = finish_plain;
  table.finish_glu[0] = finish_glu<Silu>;
  table.finish_glu[1] = finish_glu<GeluTanh>;
  table.finish_glu[2] = finish_glu<ClampedSwish>;
  table.attention[0] = attend<F32>;
  table.attention[1] = attend<Bf16>;
  table.attention[2] = attend<F16>;
  table.attention[3] = attend<Fp8>;
  table.latent_attention[0] = attend_latent<F32>;
  table.latent_attention[1] = attend_latent<Bf16>;
  table.latent_attention[2] = attend_latent<F16>;
  table.latent_attention[3] = attend_latent<Fp8>;
  table.index_scores[0] = score_index<F32>;
  table.index_scores[1] = score_index<Bf16>;
  table.index_scores[2] = score_index<F16>;
  table.index_scores[3] = score_index<Fp8>;
  table.sum_squares = sum_squares;
  table.scale_row = scale_row;
  table.layer_norm = layer_norm;
  table.rope_head = rope_head;
  table.rope_head_interleaved = rope_head_interleaved;
  table.widen[0] = widen<F32>;
  table.widen[1] = widen<Bf16>;
  table.widen[2] = widen<F16>;
  table.softcap = softcap;
  table.scale_by_sigmoid = scale_by_sigmoid;
  table.route_scores[0] = softmax_row;
  table.route_scores[1] = sigmoid_row;
  table.route_scores[2] = sqrt_softplus_row;
  table.combine = combine;
  table.convolve = convolve;
  table.delta_rule = delta_rule;
  table.ssm_scan = ssm_scan;
  table.gate_row[0] = gate_row<false>;
  table.gate_row[1] = gate_row<true>;
  table.peak = peak;
  table.peak_codes = peak_codes;
  table.read_stream = read_stream;
  table.exp = exp_row;
  table.tanh = tanh_row;
  table.softplus = softplus_row;
  return table;
}

}  // namespace
}  // namespace dure
