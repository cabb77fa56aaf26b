// See floor.h.
#include "cost/floor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/units.h"
#include "cost/most_bytes.h"

namespace dure {
namespace {

// As many decimals as the number has, up to two; a quotient above a whole number never looks like
// it, since it is rounded up.
std::string quotient_text(int64_t bytes, int64_t gpu_bytes) {
  const double exact = static_cast<double>(bytes) / static_cast<double>(gpu_bytes);
  if (bytes % gpu_bytes == 0) return fmt::format("{}", bytes / gpu_bytes);
  std::string text = fmt::format("{:.2f}", exact);
  if (text.ends_with(".00"))
    return fmt::format("a little {} {}", std::round(exact) > exact ? "below" : "above",
                       std::round(exact));
  return text.ends_with('0') ? text.substr(0, text.size() - 1) : text;
}

// Twice the floor of what most_bytes would hold is above most_bytes.
int64_t product_below_2_to_62(int64_t count, int64_t bytes) {
  constexpr int64_t most = int64_t{1} << 62;
  int64_t product = 0;
  return __builtin_mul_overflow(count, bytes, &product) ? most : std::min(product, most);
}

// Of one GPU, for weights and cache, as the engine shares its memory out.
int64_t usable_of_one(const FitQuestion& question) {
  const int64_t overhead = question.shape.overhead;
  int64_t usable = question.budget() - overhead;
  if (question.engine) {
    const Budget budget = question.engine->profile.budget;
    const auto rest = static_cast<double>(question.memory_bytes - overhead);
    if (budget == Budget::of_free_at_start)
      usable = static_cast<int64_t>(rest * question.utilization);
    if (budget == Budget::of_what_is_left) usable = question.memory_bytes - overhead;
  }
  return std::max<int64_t>(usable, 0);
}

// Of what the weights leave, the part that becomes cache.
double cache_share(const FitQuestion& question) {
  const bool of_rest =
      question.engine && question.engine->profile.budget == Budget::of_what_is_left;
  return of_rest ? question.utilization : 1.0;
}

}  // namespace

WeightFloor weight_floor(int64_t parameters, const WeightFormat& format, int64_t gpu_bytes) {
  const int64_t bytes = bytes_in(format, parameters);
  if (bytes >= most_bytes) {
    throw_bad_input(fmt::format("{} parameters as {} are more bytes than can be counted",
                                format_count(parameters), format.name),
                    "give a smaller size, as 10T", "MODEL");
  }
  return {format, parameters, bytes, gpu_bytes,
          bytes / gpu_bytes + (bytes % gpu_bytes != 0 ? 1 : 0)};
}

std::string arithmetic_of(const WeightFloor& floor) {
  const double each = floor.format.bits_per_weight / 8;
  return fmt::format("{} × {:g} {} = {}; ÷ {} = {}", format_count(floor.parameters), each,
                     each == 1.0 ? "byte" : "bytes", format_decimal_bytes(floor.weight_bytes),
                     format_decimal_bytes(floor.gpu_bytes),
                     quotient_text(floor.weight_bytes, floor.gpu_bytes));
}

std::vector<WeightFloor> floor_table(int64_t parameters, int64_t gpu_bytes) {
  std::vector<WeightFloor> table;
  for (const char* name : {"bf16", "fp8", "fp4"}) {
    table.push_back(weight_floor(parameters, find_weight_format(name), gpu_bytes));
  }
  return table;
}

AtBest at_best(const MemoryModel& model, const FitQuestion& question, int64_t gpus) {
  const Layout one;
  const RunShape shape = question.shape_for(model.spec(), one.dp);
  const RankShare all = share_of(model.spec(), one, 0);

  AtBest best;
  best.gpus = gpus;
  best.context = shape.context;
  best.usable_bytes = product_below_2_to_62(gpus, usable_of_one(question));
  best.free_after_weights = best.usable_bytes - model.all_weights();
  if (best.free_after_weights <= 0) return best;
  const int64_t sequence = sequence_bytes(model.spec(), one, all, shape);
  const auto cache =
      static_cast<int64_t>(static_cast<double>(best.free_after_weights) * cache_share(question));
  best.sequences = cache / std::max<int64_t>(sequence, 1);
  const int64_t page = kv_page_bytes(model.spec(), one, all, shape);
  // Where no layer keeps all tokens, sequences of the context are all that there can be.
  best.kv_tokens = page > 0 ? tokens_held(model.spec(), shape, cache / page)
                            : product_below_2_to_62(best.sequences, shape.context);
  return best;
}

}  // namespace dure
