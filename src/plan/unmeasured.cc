// See unmeasured.h.
#include "plan/unmeasured.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <variant>

#include "base/units.h"

namespace dure {
namespace {

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool reads_all_keys(const LayerSpec& layer) {
  if (const auto* gqa = std::get_if<GqaSpec>(&layer.attention)) return !window_of(*gqa);
  const auto* mla = std::get_if<MlaSpec>(&layer.attention);
  return mla != nullptr && !mla->indexer;
}

}  // namespace

std::string weights_of(const PlanModel& model, const PlanQuestion& question) {
  if (!question.weights) return model.spec.dtype == DType::f32 ? "f32" : "bf16";
  // One format by two names.
  return question.weights->name == "fp4" ? "nvfp4" : std::string(question.weights->name);
}

std::vector<std::string> unmeasured(const PlanModel& model, const PlanQuestion& question,
                                    const Deployment& deployment) {
  const MeasuredRange& range = model.engine.measured;
  std::vector<std::string> traits;
  const auto outside = [&](bool is, std::string trait) {
    if (is) traits.push_back(std::move(trait));
  };
  const std::string weights = weights_of(model, question);
  const auto& layers = model.spec.layers;
  const int64_t groups = deployment.groups();
  const int64_t each = (question.concurrency + groups - 1) / groups;
  outside(!range.of_engine, fmt::format("engine {}", to_string(question.engine)));
  outside(!has(range.gpus, question.gpu.name), "GPU " + question.gpu.name);
  outside(!has(range.weights, weights), "weights " + weights);
  outside(range.whole_attention && !std::all_of(layers.begin(), layers.end(), reads_all_keys),
          "layers that keep a state, a window or a choice of keys");
  outside(deployment.layout.pp > range.stages, fmt::format("pp {}", deployment.layout.pp));
  outside(deployment.placement.nodes_each > range.nodes,
          fmt::format("replicas over {} nodes", deployment.placement.nodes_each));
  outside(question.input > range.input,
          fmt::format("prompts of {} tokens", format_count(question.input)));
  outside(question.output > range.output,
          fmt::format("answers of {} tokens", format_count(question.output)));
  outside(each > range.in_flight,
          fmt::format("{} requests in flight of a dp rank", format_count(each)));
  return traits;
}

std::string in_words(const MeasuredRange& range) {
  return fmt::format(
      "measured on {}; weights {}; up to {} tokens in, {} out and {} requests in flight of a dp "
      "rank; up to {} node{} and pp {}",
      fmt::join(range.gpus, ", "), fmt::join(range.weights, ", "), format_count(range.input),
      format_count(range.output), format_count(range.in_flight), range.nodes,
      range.nodes == 1 ? "" : "s", range.stages);
}

}  // namespace dure
