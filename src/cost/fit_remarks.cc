// fit_remarks of fit.h.
#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "cost/fit.h"

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
    const int64_t page = question.shape.page_tokens;
    text += fmt::format("; {} would hold each head once: {} cache tokens at most instead of {}",
                        to_string(other.layout),
                        format_count(unreplicated.most_pages * page * other.layout.dp),
                        format_count(answer.most_pages * page * layout.dp));
  }
  remarks.push_back(text);
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

}  // namespace

std::vector<std::string> fit_remarks(const MemoryModel& model, const FitQuestion& question,
                                     const FitAnswer& answer) {
  const ModelSpec& spec = model.spec();
  std::vector<std::string> remarks;
  remark_replication(model, question, answer, remarks);
  remark_utilization(question, answer, spec, remarks);
  const int64_t tokens = answer.most_pages * question.shape.page_tokens;
  if (answer.fits && question.context == 0 && tokens < spec.context) {
    remarks.push_back(fmt::format("a cache of {} tokens is shorter than the model's context of {}",
                                  format_count(tokens), format_count(spec.context)));
  }
  if (!keeps_the_same_bits(spec, answer.layout)) {
    remarks.push_back(
        "this split cannot keep the order of sums: its logits differ in the last bits from those "
        "of one rank");
  }
  if (!spec.quantization.empty()) {
    remarks.push_back(fmt::format(
        "the checkpoint is quantized ({}): planned only, the engine does not run it yet",
        spec.quantization));
  }
  return remarks;
}

}  // namespace dure
