// Speed of the kernels in the shapes of Qwen3-30B-A3B (hidden 2048, 32 query and 4 kv heads of 128,
// 128 experts of 768, 8 per token), and of latent attention in those of DeepSeek-V3. Each line
// gives operations and bytes per second, and both as a ratio to what this machine does right
// before: a register loop of multiply-adds of the same kind, and a read of 256 MiB, by the same
// number of threads.
//   kernels_bench [--threads=N] [--isa=NAME] [--cpu-time] [Google Benchmark's flags]
#include <benchmark/benchmark.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <tuple>

#include "base/thread_pool.h"
#include "kernels/backend.h"
#include "kernels/cpu/vector/peak.h"
#include "kernels/random_data.h"
#include "kernels/recurrent_cases.h"

namespace dure {
namespace {

struct Machine {
  std::unique_ptr<Backend> backend;
  std::unique_ptr<ThreadPool> pool;
  AlignedBuffer stream{int64_t{256} << 20};
};

// Wall time, or with --cpu-time that of the calling thread: on a machine that others use, one
// thread's ratios then still mean something.
clockid_t clock_used = CLOCK_MONOTONIC;

double seconds() {
  timespec now{};
  clock_gettime(clock_used, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Best of a few short runs: the limit is what the machine can do, not what it did on average.
template <class Function>
double best_rate(double work, const Function& run) {
  double best = 0.0;
  for (int i = 0; i < 5; ++i) {
    const double start = seconds();
    run();
    best = std::max(best, work / (seconds() - start));
  }
  return best;
}

Products products_of(Compute compute, CodeFormat codes = CodeFormat::none) {
  if (codes != CodeFormat::none) return Products::int8;
  return compute == Compute::bf16 ? Products::bf16 : Products::fp32;
}

double peak_operations(Machine& machine, Products products) {
  constexpr int64_t rounds = 1 << 18;
  const int threads = machine.pool->threads();
  const PeakLoop loop = peak_loop(machine.backend->isa(), products);
  return best_rate(static_cast<double>(loop.operations_per_round * rounds * threads), [&] {
    machine.pool->run(threads, [&](int64_t, int) { benchmark::DoNotOptimize(loop.run(rounds)); });
  });
}

double peak_bytes(Machine& machine) {
  const int64_t pieces = machine.pool->threads() * 4;
  const int64_t piece = machine.stream.size() / pieces / 4096 * 4096;
  return best_rate(static_cast<double>(piece * pieces), [&] {
    machine.pool->run(pieces, [&](int64_t i, int) {
      benchmark::DoNotOptimize(
          read_stream(machine.backend->isa(), machine.stream.data() + i * piece, piece));
    });
  });
}

// Times `call` and reports; operations and bytes are those of one call.
template <class Function>
void measure(benchmark::State& state, Machine& machine, Products products, double operations,
             double bytes, const Function& call) {
  call();  // touches everything once
  const double operations_limit = peak_operations(machine, products);
  const double bytes_limit = peak_bytes(machine);
  const double start = seconds();
  for (auto _ : state) call();
  const double each = (seconds() - start) / static_cast<double>(state.iterations());
  state.counters["Gop/s"] = operations / each * 1e-9;
  state.counters["GB/s"] = bytes / each * 1e-9;
  state.counters["of_peak_op"] = operations / each / operations_limit;
  state.counters["of_peak_byte"] = bytes / each / bytes_limit;
}

// Enough copies that weights come from memory, not from the last-level cache.
std::vector<PackedMatrix> copies_of(const PackedShape& shape) {
  std::vector<PackedMatrix> copies;
  for (int64_t bytes = 0; bytes < int64_t{160} << 20; bytes += shape.bytes())
    copies.push_back(random_matrix(shape, static_cast<uint32_t>(copies.size())));
  return copies;
}

void matmul(benchmark::State& state, Machine& machine, const PackedShape& shape, Compute compute,
            int64_t rows) {
  const std::vector<PackedMatrix> copies = copies_of(shape);
  const auto x = random_floats(rows * shape.k(), 1);
  std::vector<float> out(static_cast<size_t>(rows * shape.n));
  size_t turn = 0;
  const double operations = 2.0 * static_cast<double>(rows * shape.n * shape.k());
  measure(state, machine, products_of(compute, shape.codes), operations,
          static_cast<double>(shape.bytes()), [&] {
            machine.backend->matmul(x.data(), rows, copies[turn++ % copies.size()], nullptr,
                                    compute, out.data());
          });
}

// The same of a matrix in a checkpoint's blocks.
void block_matmul(benchmark::State& state, Machine& machine, BlockRows kept, int64_t rows) {
  PackedShape shape{5120, whole_segment(2048), DType::bf16, PanelOrder::plain};
  kept.count = shape.n;
  shape.block_rows = {kept};
  std::vector<PackedMatrix> copies;
  for (int64_t bytes = 0; bytes < int64_t{160} << 20; bytes += shape.bytes()) {
    PackedMatrix& matrix = copies.emplace_back(shape);
    std::byte* const blocks = matrix.blocks_of(0);
    const int64_t row_bytes = kept.row_bytes(shape.held_inputs());
    const int64_t code_bytes = kept.code_bytes(shape.held_inputs());
    for (int64_t i = 0; i < code_bytes; ++i)
      blocks[i] = static_cast<std::byte>((i / row_bytes * 31 + i % row_bytes * 7) % 60);
    // A scale of an ordinary size in every type.
    std::byte* const tables = blocks + code_bytes;
    const ScaleLayout layout = kept.scales_of(shape.held_inputs());
    std::fill(tables, tables + layout.listed, std::byte{0x3c});
    for (int64_t at = layout.listed; at < layout.bytes; at += 4)
      tables[at] = static_cast<std::byte>(at / 4 % layout.groups.size());
  }
  const auto x = random_floats(rows * shape.k(), 1);
  std::vector<float> out(static_cast<size_t>(rows * shape.n));
  size_t turn = 0;
  measure(state, machine, products_of(Compute::bf16, CodeFormat::none),
          2.0 * static_cast<double>(rows * shape.n * shape.k()), static_cast<double>(shape.bytes()),
          [&] {
            machine.backend->matmul(x.data(), rows, copies[turn++ % copies.size()], nullptr,
                                    Compute::bf16, out.data());
          });
}

// Expert choice: each row takes `top_k` of `experts` at random.
struct Routing {
  std::vector<int32_t> source;
  std::vector<int32_t> begin;
};
Routing route(int64_t rows, int experts, int top_k) {
  std::mt19937 generator(7);
  std::vector<std::vector<int32_t>> of_expert(static_cast<size_t>(experts));
  std::vector<int> all(static_cast<size_t>(experts));
  std::iota(all.begin(), all.end(), 0);
  for (int32_t row = 0; row < rows; ++row) {
    std::shuffle(all.begin(), all.end(), generator);
    for (int s = 0; s < top_k; ++s)
      of_expert[static_cast<size_t>(all[static_cast<size_t>(s)])].push_back(row);
  }
  Routing routing;
  routing.begin.push_back(0);
  for (const auto& sources : of_expert) {
    routing.source.insert(routing.source.end(), sources.begin(), sources.end());
    routing.begin.push_back(static_cast<int32_t>(routing.source.size()));
  }
  return routing;
}

void experts(benchmark::State& state, Machine& machine, bool up, CodeFormat codes, int64_t rows) {
  const PackedShape shape =
      up ? PackedShape{1536, whole_segment(2048), DType::bf16, PanelOrder::gate_up, codes}
         : PackedShape{2048, tree_segments_of(768, 1, 1, 0), DType::bf16, PanelOrder::plain, codes};
  std::vector<PackedMatrix> matrices;
  for (uint32_t e = 0; e < 128; ++e) matrices.push_back(random_matrix(shape, e));
  Routing routing = route(rows, 128, 8);
  int64_t active = 0;
  for (size_t e = 0; e < 128; ++e) active += routing.begin[e] != routing.begin[e + 1];
  const int64_t pairs = static_cast<int64_t>(routing.source.size());
  if (!up) std::iota(routing.source.begin(), routing.source.end(), 0);
  const auto x = random_floats((up ? rows : pairs) * shape.k(), 1);
  std::vector<float> out(static_cast<size_t>(pairs * shape.n));
  const double operations = 2.0 * static_cast<double>(pairs * shape.n * shape.k());
  measure(state, machine, products_of(Compute::bf16, codes), operations,
          static_cast<double>(active * shape.bytes()), [&] {
            const ExpertRows grouped{routing.source, routing.begin};
            if (up) {
              machine.backend->grouped_matmul_glu(x.data(), grouped, matrices, nullptr, nullptr, {},
                                                  Compute::bf16, out.data());
            } else {
              machine.backend->grouped_matmul(x.data(), grouped, matrices, Compute::bf16,
                                              out.data());
            }
          });
}

// `sequences` of `context` cached tokens, the last `tokens` of which are queries.
struct Slices {
  std::vector<int32_t> pages;
  std::vector<AttentionSlice> slices;
};
Slices slices_of(int64_t sequences, int64_t pages_each, int64_t context, int64_t tokens) {
  Slices all;
  all.pages.resize(static_cast<size_t>(sequences * pages_each));
  std::iota(all.pages.begin(), all.pages.end(), 0);
  for (int64_t s = 0; s < sequences; ++s)
    all.slices.push_back({s * tokens, tokens, context - tokens,
                          std::span(all.pages).subspan(static_cast<size_t>(s * pages_each),
                                                       static_cast<size_t>(pages_each))});
  return all;
}

// Of one sequence and head.
double keys_seen(int64_t context, int64_t tokens) {
  return static_cast<double>(tokens) *
         (static_cast<double>(context - tokens) + static_cast<double>(tokens + 1) / 2);
}

void attention(benchmark::State& state, Machine& machine, int64_t sequences, int64_t context,
               int64_t tokens) {
  constexpr int64_t heads = 32, kv_heads = 4, head_dim = 128, page_tokens = 16;
  const int64_t pages_each = (context + page_tokens - 1) / page_tokens;
  const int64_t page_bytes = kv_page_elements(page_tokens, kv_heads, head_dim) * 2;
  AlignedBuffer stored(sequences * pages_each * page_bytes * 2);
  const KvLayer cache{stored.data(), stored.data() + page_bytes,
                      DType::bf16,   page_tokens,
                      kv_heads,      head_dim,
                      head_dim,      2 * page_bytes};
  const auto [pages, slices] = slices_of(sequences, pages_each, context, tokens);
  std::vector<int32_t> kv_of_head;
  for (int32_t h = 0; h < heads; ++h) kv_of_head.push_back(h / 8);
  const auto q = random_floats(sequences * tokens * heads * head_dim, 1);
  std::vector<float> out(q.size());
  const AttentionShape shape{heads, head_dim, head_dim, kv_of_head, 0.088f};
  const double operations =
      static_cast<double>(sequences * heads * head_dim) * 4.0 * keys_seen(context, tokens);
  measure(state, machine, Products::fp32, operations, static_cast<double>(stored.size()), [&] {
    machine.backend->attention(q.data(), heads * head_dim, slices, shape, cache, out.data());
  });
}

// The same of latent attention as DeepSeek-V3 has it: `heads` heads (128 of them, less with tp).
// With `selected` keys spread evenly over those of each row; 0: all.
void latent_attention(benchmark::State& state, Machine& machine, int64_t sequences, int64_t context,
                      int64_t tokens, int64_t heads, int64_t selected) {
  constexpr int64_t latent = 512, rope = 64, width = latent + rope, page_tokens = 16;
  const int64_t pages_each = (context + page_tokens - 1) / page_tokens;
  AlignedBuffer rows(sequences * pages_each * page_tokens * width * 2);
  const LatentLayer cache{rows.data(), DType::bf16, page_tokens,
                          latent,      rope,        page_tokens * width * 2};
  const auto [pages, slices] = slices_of(sequences, pages_each, context, tokens);
  const auto q = random_floats(sequences * tokens * heads * width, 1);
  std::vector<float> out(static_cast<size_t>(sequences * tokens * heads * latent));
  LatentShape shape{heads, 0.07f};
  double keys = keys_seen(context, tokens);
  std::vector<uint64_t> bits;
  if (selected > 0) {
    shape.selected_words = context / 64 + 1;
    bits.resize(static_cast<size_t>(sequences * tokens * shape.selected_words));
    for (int64_t row = 0; row < sequences * tokens; ++row)
      for (int64_t i = 0; i < selected; ++i)
        bits[static_cast<size_t>(row * shape.selected_words + i * context / selected / 64)] |=
            uint64_t{1} << (i * context / selected % 64);
    shape.selected = bits.data();
    keys = static_cast<double>(selected * tokens);
  }
  const double operations = static_cast<double>(sequences * heads * (width + latent)) * 2.0 * keys;
  measure(state, machine, Products::fp32, operations, static_cast<double>(rows.size()), [&] {
    machine.backend->latent_attention(q.data(), heads * width, slices, shape, cache, out.data());
  });
}

// The index of DeepSeek-V3.2 (64 heads of 128) and the choice of 2048 keys.
void sparse_index(benchmark::State& state, Machine& machine, int64_t context, int64_t tokens,
                  bool choose) {
  constexpr int64_t heads = 64, dim = 128, page_tokens = 16;
  const int64_t pages_each = (context + page_tokens - 1) / page_tokens;
  AlignedBuffer rows(pages_each * page_tokens * dim * 2);
  const LatentLayer keys{rows.data(), DType::bf16, page_tokens, dim, 0, page_tokens * dim * 2};
  const auto [pages, slices] = slices_of(1, pages_each, context, tokens);
  const auto q = random_floats(tokens * heads * dim, 1);
  const auto weights = random_floats(tokens * heads, 2);
  auto scores = random_floats(tokens * context, 3);
  const int64_t words = context / 64 + 1;
  std::vector<uint64_t> selected(static_cast<size_t>(tokens * words));
  const double seen = keys_seen(context, tokens);
  if (choose) {
    measure(state, machine, Products::fp32, 0.0, seen * 4, [&] {
      machine.backend->select_keys(scores.data(), context, slices, 2048, selected.data(), words);
    });
    return;
  }
  measure(state, machine, Products::fp32, seen * static_cast<double>(heads * (dim + 1)) * 2.0,
          static_cast<double>(rows.size()), [&] {
            machine.backend->index_scores(q.data(), heads * dim, weights.data(), heads, slices,
                                          keys, scores.data(), context);
          });
}

// A layer of recurrent mixing: `sequences` that go on with `tokens` each. Bytes: every state read
// and written once.
template <class Inputs>
void recurrence(benchmark::State& state, Machine& machine, const Inputs& inputs, int64_t sequences,
                int64_t tokens, double operations_per_float) {
  AlignedBuffer slots(sequences * inputs.state_floats() * 4);
  const StateLayer layer{reinterpret_cast<float*>(slots.data()), inputs.state_floats()};
  std::vector<StateSlice> slices;
  for (int64_t s = 0; s < sequences; ++s) slices.push_back({s * tokens, tokens, 1, s});
  std::vector<float> out(static_cast<size_t>(sequences * tokens * inputs.out_width()));
  const double floats = static_cast<double>(sequences * inputs.state_floats());
  measure(state, machine, Products::fp32,
          floats * static_cast<double>(tokens) * operations_per_float, floats * 8,
          [&] { inputs.run(*machine.backend, slices, layer, out.data()); });
}

// A row each of 64 sequences over Qwen3's vocabulary: logits as language models give them, of which
// few matter, or nearly equal ones, as random weights give. Bytes: the logits, read once.
void sampling(benchmark::State& state, Machine& machine, bool peaked, const SampleSpec& spec,
              int32_t logprobs) {
  constexpr int64_t rows = 64, vocab = 151936;
  auto logits = random_floats(rows * vocab, 1);
  for (int64_t i = 0; peaked && i < rows * vocab; ++i) {
    float& logit = logits[static_cast<size_t>(i)];
    logit *= 4.0f;
    if (i % 997 == 0) logit += 24.0f * logit / 4.0f;
  }
  std::vector<SampleRow> batch(rows);
  for (int64_t i = 0; i < rows; ++i) {
    SampleRow& row = batch[static_cast<size_t>(i)];
    row.logits = logits.data() + i * vocab;
    row.spec = spec;
    row.position = static_cast<uint64_t>(i);
    row.logprobs = logprobs;
  }
  std::vector<SampledRow> results(rows);
  measure(state, machine, Products::fp32, 0.0, static_cast<double>(rows * vocab * 4),
          [&] { machine.backend->sample(batch, vocab, results.data()); });
}

template <class Function>
void add(const std::string& name, const Function& function) {
  benchmark::RegisterBenchmark(name.c_str(), function)
      ->UseRealTime()
      ->Unit(benchmark::kMicrosecond);
}

void register_all(Machine& machine) {
  const auto plain = [](int64_t n, int64_t k, DType dtype) {
    return PackedShape{n, whole_segment(k), dtype, PanelOrder::plain};
  };
  const auto tree = [](int64_t n, int64_t k) {
    return PackedShape{n, tree_segments_of(k, 1, 1, 0), DType::bf16, PanelOrder::plain};
  };
  const std::pair<std::string, PackedShape> bf16[] = {
      {"qkv_5120x2048", plain(5120, 2048, DType::bf16)},
      {"o_2048x4096_tree", tree(2048, 4096)},
      {"down_2048x768_tree", tree(2048, 768)},
      {"head_151936x2048", plain(151936, 2048, DType::bf16)}};
  for (const CodeFormat codes : {CodeFormat::none, CodeFormat::q8, CodeFormat::q4}) {
    const std::string kind(codes == CodeFormat::none ? "bf16" : to_string(codes));
    for (auto [name, shape] : bf16) {
      shape.codes = codes;
      for (const int64_t rows : {1, 4, 16, 64, 512}) {
        if (shape.n > 100000 && rows > 64) continue;
        add("matmul_" + kind + "/" + name + "/rows:" + std::to_string(rows),
            [&machine, shape = shape, rows](benchmark::State& state) {
              matmul(state, machine, shape, Compute::bf16, rows);
            });
      }
    }
  }
  std::vector<std::pair<std::string, BlockRows>> kept = {
      {"fp8_by_block", {0, BlockFormat::fp8, RowScales{.rows = 128, .inputs = 128}}},
      {"fp8_by_output", {0, BlockFormat::fp8, RowScales{.type = ScaleType::bf16}}},
      {"int8", {0, BlockFormat::int8, RowScales{.type = ScaleType::bf16}}},
      {"mxfp4_apart", {0, BlockFormat::fp4, RowScales{.type = ScaleType::e8m0, .inputs = 32}}},
      {"nvfp4",
       {0, BlockFormat::fp4, RowScales{.type = ScaleType::e4m3, .inputs = 16, .factor = true}}},
      {"gptq",
       {0, BlockFormat::int4,
        RowScales{.type = ScaleType::f16, .inputs = 128, .zeros = true, .zero = 1}}},
      {"gptq_in_any_order",
       {0, BlockFormat::int4, RowScales{.type = ScaleType::f16, .listed_groups = 16}}}};
  for (const BlockFormat format : block_formats)
    kept.push_back({std::string(to_string(format)), {0, format}});
  for (const auto& [name, rows_kept] : kept) {
    for (const int64_t rows : {1, 16, 512}) {
      add("matmul_blocks/" + name + "_5120x2048/rows:" + std::to_string(rows),
          [&machine, rows_kept = rows_kept, rows](benchmark::State& state) {
            block_matmul(state, machine, rows_kept, rows);
          });
    }
  }
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    for (const int64_t rows : {1, 16, 512}) {
      add("matmul_fp32/" + std::string(to_string(dtype)) +
              "_2048x2048/rows:" + std::to_string(rows),
          [&machine, shape = plain(2048, 2048, dtype), rows](benchmark::State& state) {
            matmul(state, machine, shape, Compute::fp32, rows);
          });
    }
  }
  for (const CodeFormat codes : {CodeFormat::none, CodeFormat::q8, CodeFormat::q4}) {
    const std::string suffix = codes == CodeFormat::none ? "" : "_" + std::string(to_string(codes));
    for (const bool up : {true, false}) {
      for (const int64_t rows : {1, 4, 16, 64, 512}) {
        add((up ? "experts_gate_up" : "experts_down") + suffix + "/rows:" + std::to_string(rows),
            [&machine, up, codes, rows](benchmark::State& state) {
              experts(state, machine, up, codes, rows);
            });
      }
    }
  }
  const int64_t attention_cases[][3] = {
      {1, 4096, 1}, {16, 1024, 1}, {64, 1024, 1}, {1, 512, 512}, {1, 4096, 512}};
  for (const auto& [sequences, context, tokens] : attention_cases) {
    add("attention/sequences:" + std::to_string(sequences) + "/context:" + std::to_string(context) +
            "/tokens:" + std::to_string(tokens),
        [&machine, s = sequences, c = context, t = tokens](benchmark::State& state) {
          attention(state, machine, s, c, t);
        });
  }
  const int64_t latent_cases[][5] = {{1, 4096, 1, 128, 0},
                                     {16, 1024, 1, 128, 0},
                                     {16, 1024, 1, 16, 0},
                                     {1, 512, 512, 16, 0},
                                     {1, 32768, 1, 128, 2048}};
  for (const auto& [sequences, context, tokens, heads, selected] : latent_cases) {
    add("latent_attention/sequences:" + std::to_string(sequences) +
            "/context:" + std::to_string(context) + "/tokens:" + std::to_string(tokens) +
            "/heads:" + std::to_string(heads) + "/selected:" + std::to_string(selected),
        [&machine, s = sequences, c = context, t = tokens, h = heads, k = selected](
            benchmark::State& state) { latent_attention(state, machine, s, c, t, h, k); });
  }
  for (const auto& [context, tokens] : {std::pair{32768, 1}, std::pair{4096, 64}}) {
    for (const bool choose : {false, true}) {
      add(std::string(choose ? "select_keys" : "index_scores") +
              "/context:" + std::to_string(context) + "/tokens:" + std::to_string(tokens),
          [&machine, c = context, t = tokens, choose](benchmark::State& state) {
            sparse_index(state, machine, c, t, choose);
          });
    }
  }
  const std::tuple<std::string, SampleSpec, int32_t> samplings[] = {
      {"greedy", {0.0f}, -1},
      {"greedy_logprobs_20", {0.0f}, 20},
      {"temperature", {1.0f}, -1},
      {"top_k_50", {1.0f, 50}, -1},
      {"top_p", {1.0f, 0, 0.9f}, -1},
      {"min_p", {1.0f, 0, 1.0f, 0.05f}, -1},
      {"top_k_50_top_p", {0.7f, 50, 0.9f}, -1}};
  for (const auto& [name, spec, logprobs] : samplings) {
    for (const bool peaked : {true, false}) {
      add("sample/" + name + (peaked ? "/peaked" : "/flat"),
          [&machine, peaked, spec = spec, logprobs = logprobs](benchmark::State& state) {
            sampling(state, machine, peaked, spec, logprobs);
          });
    }
  }
  // Qwen3-Next (32 value and 16 key heads of 128), Kimi-Linear (32 heads of 128, decays per key),
  // Nemotron-H (64 heads of 64, 8 groups of 128).
  const int64_t recurrent_cases[][2] = {{1, 1}, {16, 1}, {1, 256}, {4, 256}};
  for (const auto& [sequences, tokens] : recurrent_cases) {
    const auto add_inputs = [&, s = sequences, t = tokens](const std::string& name, auto inputs,
                                                           double operations) {
      add(name + "/sequences:" + std::to_string(s) + "/tokens:" + std::to_string(t),
          [&machine, inputs, s, t, operations](benchmark::State& state) {
            recurrence(state, machine, inputs, s, t, operations);
          });
    };
    const int64_t rows = sequences * tokens;
    add_inputs("causal_conv", ConvInputs({.channels = 8192}, rows, 1), 0.0);
    add_inputs("delta_rule",
               DeltaInputs({.heads = 32, .key_heads = 16, .key_dim = 128, .value_dim = 128}, rows,
                           Gates::random, 1),
               7.0);
    add_inputs(
        "delta_rule_per_key",
        DeltaInputs(
            {.heads = 32, .key_heads = 32, .key_dim = 128, .value_dim = 128, .per_key = true}, rows,
            Gates::random, 1),
        7.0);
    add_inputs("ssm_scan",
               SsmInputs({.heads = 64, .groups = 8, .head_dim = 64, .state_dim = 128}, rows,
                         Gates::random, 1),
               5.0);
  }
}

}  // namespace
}  // namespace dure

int main(int argc, char** argv) {
  int threads = 2;
  std::string isa;
  int kept = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.starts_with("--threads=")) {
      threads = std::atoi(argv[i] + std::strlen("--threads="));
    } else if (argument.starts_with("--isa=")) {
      isa = argument.substr(std::strlen("--isa="));
    } else if (argument == "--cpu-time") {
      threads = 1;
      dure::clock_used = CLOCK_THREAD_CPUTIME_ID;
    } else {
      argv[kept++] = argv[i];
    }
  }
  argc = kept;
  dure::Machine machine;
  machine.backend = dure::make_cpu_backend(threads, isa);
  machine.pool = std::make_unique<dure::ThreadPool>(threads);
  std::memset(machine.stream.data(), 1, static_cast<size_t>(machine.stream.size()));
  dure::register_all(machine);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
}
