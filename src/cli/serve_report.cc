// See serve_report.h.
#include "cli/serve_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "cli/table.h"
#include "cost/shard.h"

namespace dure {
namespace {

std::string range_text(const Range& range) {
  if (range.size() <= 0) return "-";
  return range.size() == 1 ? fmt::format("{}", range.begin)
                           : fmt::format("{}-{}", range.begin, range.end - 1);
}

// The experts that a rank holds: the same of every MoE layer whose number of experts is the same.
std::string experts_text(const ModelSpec& spec, const Layout& layout, const RankShare& share) {
  for (int64_t layer = share.layers.begin; layer < share.layers.end; ++layer) {
    const auto* moe = std::get_if<MoeFfn>(&spec.layers[static_cast<size_t>(layer)].ffn);
    if (moe == nullptr) continue;
    std::string text = range_text(experts_of(*moe, layout, share.place.ep));
    if (layout.etp() > 1) text += fmt::format(" (1/{} of each)", layout.etp());
    return text;
  }
  return "-";
}

int64_t most_experts(const ModelSpec& spec) {
  int64_t most = 0;
  for (const LayerSpec& layer : spec.layers) {
    const auto* moe = std::get_if<MoeFfn>(&layer.ffn);
    if (moe != nullptr) most = std::max(most, moe->experts);
  }
  return most;
}

std::string bits_report(const ServeSetup& setup) {
  const ExpertCapacity& capacity = setup.group.start.capacity;
  if (capacity.bounded()) {
    return fmt::format(
        "experts take at most {} times their even share of a step's token slots, others {}: "
        "answers depend on what else is in the batch, so the same bits are not promised\n",
        capacity.factor,
        capacity.overflow == ExpertOverflow::next ? "go to the next best" : "are dropped");
  }
  return setup.same_bits
             ? "this layout keeps the same bits: every answer is the one of a single rank\n"
             : "this layout does not keep the order of sums: answers agree with a single rank's "
               "wherever one token is clearly the best\n";
}

}  // namespace

std::string planned_report(const ServeSetup& setup) {
  const Layout& layout = setup.group.start.layout;
  using Align = Table::Align;
  Table table({{"rank", Align::right},
               {"stage", Align::right},
               {"dp", Align::right},
               {"tp", Align::right},
               {"layers", Align::right},
               {"experts", Align::right},
               {"weights", Align::right},
               {"KV cache", Align::right},
               {"other", Align::right}});
  for (int rank = 0; rank < layout.world(); ++rank) {
    const RankShare share = share_of(setup.spec, layout, rank);
    const RankMemory& memory = setup.memory[static_cast<size_t>(rank)];
    table.add({fmt::format("{}", rank), fmt::format("{}", share.place.stage),
               fmt::format("{}", share.place.dp), fmt::format("{}", share.place.tp),
               range_text(share.layers), experts_text(setup.spec, layout, share),
               format_bytes(memory.weights + memory.padding), format_bytes(memory.kv),
               format_bytes(memory.activation + memory.communication + memory.overhead)});
  }
  const ScheduleOptions& schedule = setup.engine.schedule;
  std::string text = fmt::format(
      "{}, {} ({} layers, {} experts), {} compute, {} threads a rank\n", setup.model.names.front(),
      to_string(layout), setup.spec.layers.size(), most_experts(setup.spec),
      setup.group.start.compute == Compute::fp32 ? "fp32" : "bf16", setup.group.start.threads);
  text += table.text();
  text += fmt::format(
      "context {} tokens; cache for {} tokens in each of {} dp group{}; {} tokens a step\n",
      format_count(setup.model.context), format_count(setup.cached_tokens), layout.dp,
      layout.dp == 1 ? "" : "s", schedule.max_batch_tokens);
  if (!setup.growth.empty()) text += setup.growth + "\n";
  text += bits_report(setup);
  return text;
}

std::string running_report(const GroupReady& ready) {
  using Align = Table::Align;
  Table table({{"rank", Align::right},
               {"host", Align::left},
               {"pid", Align::right},
               {"kernels", Align::left},
               {"weights", Align::right},
               {"KV cache", Align::right},
               {"activations", Align::right},
               {"exchange", Align::right},
               {"peak", Align::right},
               {"loaded in", Align::right}});
  for (const RankReport& rank : ready.ranks) {
    table.add({fmt::format("{}", rank.rank), rank.host, fmt::format("{}", rank.pid), rank.isa,
               format_bytes(rank.weight_bytes), format_bytes(rank.kv_bytes),
               format_bytes(rank.activation_bytes), format_bytes(rank.communication_bytes),
               format_bytes(rank.peak_rss_bytes), fmt::format("{:.1f} s", rank.load_s)});
  }
  return table.text();
}

Event serving_event(const GroupReady& ready, const std::string& url, const ServeSetup& setup) {
  Event event{Level::info, "serving",
              fmt::format("ready: {}/v1 (model {}, {})", url, setup.model.names.front(),
                          to_string(setup.group.start.layout))};
  event.numbers = {{"ranks", static_cast<double>(ready.ranks.size())}};
  return event;
}

Event clock_event(const ClockTold& told) {
  const double offset_s = static_cast<double>(told.ns) / 1e9;
  const double within_s = static_cast<double>(told.within_ns) / 1e9;
  Event event{
      Level::info, "clock_compared",
      fmt::format("rank {}'s clock is {:.6f} s from rank 0's, to within {:.6f} s: its spans "
                  "in the trace are shifted by that",
                  told.rank, offset_s, within_s)};
  event.rank = told.rank;
  event.numbers = {{"offset_s", offset_s}, {"within_s", within_s}};
  return event;
}

Event restarted_event(const GroupReady& ready, double seconds) {
  int64_t weights = 0;
  int64_t kept = 0;
  for (const RankReport& rank : ready.ranks) {
    weights += rank.weight_bytes;
    kept += rank.kept_bytes;
  }
  const std::string from =
      kept == weights ? fmt::format("all {} of weights were kept in memory", format_bytes(weights))
      : kept == 0     ? fmt::format("{} of weights were read again", format_bytes(weights))
                      : fmt::format("{} of {} of weights were kept in memory, the rest read again",
                                    format_bytes(kept), format_bytes(weights));
  Event event{
      Level::info, "group_restarted",
      fmt::format("ready again: the ranks started in {}; {}", format_seconds(seconds), from)};
  event.numbers = {{"seconds", seconds},
                   {"weight_bytes", static_cast<double>(weights)},
                   {"kept_bytes", static_cast<double>(kept)}};
  return event;
}

}  // namespace dure
