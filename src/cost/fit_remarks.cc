// fit_remarks of fit.h.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/units.h"
#include "cost/fit.h"
#include "cost/retype.h"

namespace dure {
namespace {

// The fewest kv heads of a layer that caches keys (a latent vector counts as one): beyond them,
// tensor parallel ranks cache copies. Nothing if no layer does.
std::optional<int64_t> fewest_kv_heads(const ModelSpec& spec) {
  std::optional<int64_t> fewest;
  for (const LayerSpec& layer : spec.layers) {
    if (cached_elements(layer.attention, 1, 0) == 0) continue;
    const int64_t heads = kv_heads(layer.attention);
    fewest = std::min(fewest.value_or(heads), heads);
  }
  return fewest;
}

// That fit into the caches of all dp groups.
int64_t most_tokens(const MemoryModel& model, const FitQuestion& question,
                    const FitAnswer& answer) {
  const RunShape shape = question.shape_for(model.spec(), answer.layout.dp);
  return tokens_held(model.spec(), shape, answer.most_pages) * answer.layout.dp;
}

void remark_replication(const MemoryModel& model, const FitQuestion& question,
                        const FitAnswer& answer, std::vector<std::string>& remarks) {
  const Layout& layout = answer.layout;
  const int64_t fewest = fewest_kv_heads(model.spec()).value_or(layout.tp);
  if (layout.tp <= fewest) return;
  std::string text = fmt::format("{} kv heads over tp {}: the cache is held {} times", fewest,
                                 layout.tp, (layout.tp + fewest - 1) / fewest);
  if (layout.tp % fewest == 0) {
    FitQuestion other = question;
    other.layout.tp = static_cast<int>(fewest);
    other.layout.dp = layout.dp * static_cast<int>(layout.tp / fewest);
    const FitAnswer unreplicated = fit(model, other);
    text +=
        fmt::format("; {} would hold each head once: {} cache tokens at most instead of {}",
                    to_string(other.layout), format_count(most_tokens(model, other, unreplicated)),
                    format_count(most_tokens(model, question, answer)));
  }
  remarks.push_back(text);
}

// Whether every rank's part of the matrix begins and ends between blocks of scales.
bool cut_between_blocks(const Weight& weight, const ModelSpec& spec, int64_t tp) {
  const int64_t outputs = spec.scale_block[0];
  const int64_t inputs = spec.scale_block[1];
  const auto cuts = [tp](int64_t size, int64_t block) {
    return size % tp == 0 && size / tp % block == 0;
  };
  switch (weight.split) {
    case Split::columns:
    case Split::q_heads:
      return cuts(weight.shape[0], outputs);
    case Split::kv_heads: {
      const int64_t heads = kv_heads(spec.layers[static_cast<size_t>(weight.layer)].attention);
      return weight.shape[0] / heads * std::max<int64_t>(heads / tp, 1) % outputs == 0;
    }
    case Split::rows:
    case Split::q_heads_input:
      return cuts(weight.shape[1], inputs);
    default:
      return true;
  }
}

// The tensor parallel sizes that engines take which cut scales nowhere but between blocks.
std::string sizes_between_blocks(const ModelSpec& spec, const std::vector<Weight>& weights,
                                 bool whole_experts) {
  std::vector<int> sizes;
  for (int tp = 1; tp <= 32; tp *= 2) {
    const bool all = std::all_of(weights.begin(), weights.end(), [&](const Weight& weight) {
      const bool counts = is_retyped(weight) && !(whole_experts && weight.expert >= 0);
      return !counts || cut_between_blocks(weight, spec, tp);
    });
    if (all) sizes.push_back(tp);
  }
  return fmt::format("{}", fmt::join(sizes, ", "));
}

void remark_blocks(const ModelSpec& spec, std::vector<std::string>& remarks) {
  if (spec.scale_block.empty()) return;
  const std::vector<Weight> weights = inventory(spec);
  const std::string sliced = sizes_between_blocks(spec, weights, false);
  const std::string whole = sizes_between_blocks(spec, weights, true);
  std::string text = fmt::format(
      "blocks of {} × {} share a scale: Dure cuts within them, so any tp goes; vLLM and "
      "SGLang cut between them, which leaves tp {}",
      spec.scale_block[0], spec.scale_block[1], sliced);
  if (whole != sliced) text += fmt::format(", and tp {} where ep keeps experts whole", whole);
  remarks.push_back(text);
}

// What engines say that set aside the most that a sequence of windowed layers ever holds.
void remark_windows(const ModelSpec& spec, const FitQuestion& question, const FitAnswer& answer,
                    std::vector<std::string>& remarks) {
  const RunShape shape = question.shape_for(spec, answer.layout.dp);
  const std::optional<int64_t> reserved =
      windowed_tokens_per_sequence(spec, shape.context, shape.max_batch_tokens, shape.page_tokens);
  if (!reserved || !answer.fits || !shape.windows_apart) return;
  const RankFit& rank = answer.ranks[answer.tightest];
  const auto tightest = static_cast<int>(answer.tightest);
  const int64_t token = kv_bytes_per_token(
      spec, answer.layout, share_of(spec, answer.layout, tightest), shape.kv_element_bytes);
  if (token == 0) return;
  const double tokens =
      static_cast<double>(rank.memory.kv + rank.free) / static_cast<double>(token);
  remarks.push_back(fmt::format(
      "every layer sees a window: engines that set aside window and chunk for each sequence, {} "
      "tokens, take {:.1f} sequences of {} at once",
      format_count(*reserved), tokens / static_cast<double>(*reserved) * answer.layout.dp,
      format_count(shape.context)));
}

void remark_utilization(const FitQuestion& question, const FitAnswer& answer, const ModelSpec& spec,
                        std::vector<std::string>& remarks) {
  const int64_t workspace =
      gpu_dispatch_workspace(spec, answer.layout, question.shape.max_batch_tokens);
  const int64_t outside = question.memory_bytes - question.budget();
  // Fragments, graphs and the second workspace of overlapped batches live outside the budget.
  if (question.shared || question.utilization < 0.93 || workspace < outside / 8) return;
  remarks.push_back(fmt::format(
      "utilization {:.2f} leaves {} for all that is not counted, while the expert exchange over ep "
      "{} alone takes {}: engines that allocate it outside the budget, or twice, run out of "
      "memory; "
      "0.90 is safer",
      question.utilization, format_bytes(outside), answer.layout.ep, format_bytes(workspace)));
}

// What an engine takes beside its budget has to find room there.
void remark_outside(const MemoryModel& model, const FitQuestion& question, const FitAnswer& answer,
                    std::vector<std::string>& remarks) {
  if (!question.engine) return;
  const int64_t left = question.memory_bytes - budget_of(model, question, answer.layout);
  const int64_t outside = answer.ranks[answer.tightest].memory.outside;
  if (outside <= left) return;
  remarks.push_back(
      fmt::format("utilization {:.2f} leaves {} of the GPU, and the engine takes {} beside its "
                  "budget: it would "
                  "run out of memory after start",
                  question.utilization, format_bytes(left), format_bytes(outside)));
}

}  // namespace

std::vector<std::string> fit_remarks(const MemoryModel& model, const FitQuestion& question,
                                     const FitAnswer& answer) {
  const ModelSpec& spec = model.spec();
  std::vector<std::string> remarks = release_remarks(spec, model.format());
  remark_replication(model, question, answer, remarks);
  remark_utilization(question, answer, spec, remarks);
  remark_outside(model, question, answer, remarks);
  remark_windows(spec, question, answer, remarks);
  remark_blocks(spec, remarks);
  const int64_t tokens = most_tokens(model, question, answer) / answer.layout.dp;
  if (answer.fits && question.context == 0 && tokens < spec.context) {
    remarks.push_back(fmt::format("a cache of {} tokens is shorter than the model's context of {}",
                                  format_count(tokens), format_count(spec.context)));
  }
  if (question.engine) return remarks;  // what follows is about Dure's own
  if (!keeps_the_same_bits(spec, answer.layout)) {
    remarks.push_back(
        "this split cannot keep the order of sums: its logits differ in the last bits from those "
        "of one rank");
  }
  return remarks;
}

}  // namespace dure
