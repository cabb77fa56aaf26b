// See plan_report.h.
#include "cli/plan_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/units.h"
#include "cli/memory_report.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "plan/reasons.h"

namespace dure {
namespace {

constexpr auto right = Table::Align::right;
constexpr size_t front_rows = 8;
constexpr int64_t no_bound = 1024;  // sequences at once: what engines take anyway

// Words of a sentence over lines; those after the first are indented.
std::string folded(const std::string& text, int columns, int indent) {
  std::string lines;
  int used = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    const int width = display_width(word);
    if (used > indent && used + 1 + width > columns) {
      lines += '\n' + std::string(static_cast<size_t>(indent), ' ');
      used = indent;
    } else if (at > 0) {
      lines += ' ';
      ++used;
    }
    lines += word;
    used += width;
    at = end + 1;
  }
  return lines + '\n';
}

std::string tokens_text(double per_second) {
  return per_second < 100.0 ? fmt::format("{:.1f}", per_second)
                            : format_count(std::llround(per_second));
}

std::string heading(const PlanQuestion& question, const PlanAnswer& answer, int columns) {
  const int nodes = (question.gpus + question.gpus_per_node - 1) / question.gpus_per_node;
  const std::string model =
      fmt::format("{}: weights {} ({}) on {} × {} in {} node{}", question.model,
                  format_decimal_bytes(answer.weight_bytes), format_bytes(answer.weight_bytes),
                  question.gpus, question.gpu.name, nodes, nodes == 1 ? "" : "s");
  std::string text = question.concurrency > 0
                         ? fmt::format("{} requests in flight", format_count(question.concurrency))
                         : fmt::format("{} requests/s", question.rate);
  text += fmt::format(" of {} tokens in, {} out; objective {}", format_count(question.input),
                      format_count(question.output), to_string(question.objective));
  if (question.ttft_limit > 0.0) text += "; TTFT ≤ " + format_seconds(question.ttft_limit);
  if (question.tpot_limit > 0.0) text += "; TPOT ≤ " + format_seconds(question.tpot_limit);
  return folded(model, columns, 2) + folded(text, columns, 2) + '\n';
}

std::string ranked_table(const std::vector<PlannedLayout>& ranked) {
  Table table({{"", right},
               {"replicas × layout"},
               {"TTFT", right},
               {"TPOT", right},
               {"tokens/s", right},
               {"per GPU", right},
               {"per user", right},
               {"users", right},
               {"bound"}});
  int place = 0;
  for (const PlannedLayout& each : ranked) {
    table.add({fmt::format("{}", ++place), replicas_text(each), format_seconds(each.service.ttft),
               format_seconds(each.service.tpot), tokens_text(each.service.tokens_per_s),
               tokens_text(each.service.per_gpu), tokens_text(each.service.per_user),
               tokens_text(each.service.users), to_string(each.bound)});
  }
  return table.text();
}

std::string band_text(const char* what, double value, const ErrorBand& band) {
  return fmt::format("{} {} to {}", what, format_seconds(band.low * value),
                     format_seconds(band.high * value));
}

// Neighbours that need the same are one line, whichever of a layer's experts each holds.
std::string memory_table(const PlannedLayout& planned) {
  Table table({{"ranks"},
               {"layers"},
               {"experts"},
               {"weights", right},
               {"kv", right},
               {"activation", right},
               {"exchange", right},
               {"overhead", right},
               {"graphs", right},
               {"free", right}});
  const auto cells_of = [](const PlannedRank& rank) {
    return std::vector<std::string>{span_text(rank.layers),
                                    format_bytes(rank.memory.weights + rank.memory.padding),
                                    format_bytes(rank.memory.kv),
                                    format_bytes(rank.memory.activation),
                                    format_bytes(rank.memory.communication),
                                    format_bytes(rank.memory.overhead),
                                    format_bytes(rank.memory.cuda_graphs),
                                    format_bytes(rank.free)};
  };
  for (size_t first = 0; first < planned.ranks.size();) {
    std::vector<std::string> row = cells_of(planned.ranks[first]);
    const Range experts = planned.ranks[first].experts;
    size_t last = first + 1;
    while (last < planned.ranks.size() && cells_of(planned.ranks[last]) == row &&
           planned.ranks[last].experts.size() == experts.size()) {
      ++last;
    }
    const int64_t end = planned.ranks[last - 1].experts.end;
    const bool alike = end == experts.end;
    row.insert(row.begin() + 1,
               alike ? span_text(experts)
                     : fmt::format("{}, {} each", span_text({experts.begin, end}), experts.size()));
    row.insert(row.begin(), span_text({static_cast<int64_t>(first), static_cast<int64_t>(last)}));
    table.add(row);
    first = last;
  }
  return table.text();
}

std::string step_text(const char* what, const TypicalStep& step, int columns) {
  std::vector<std::pair<double, Operation>> parts;
  for (size_t i = 0; i < operations_of_a_step; ++i) {
    const auto operation = static_cast<Operation>(i);
    parts.emplace_back(step.time.of(operation), operation);
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text = fmt::format("{} {}:", what, format_seconds(step.time.total()));
  for (const auto& [seconds, operation] : parts) {
    if (seconds < 0.01 * step.time.total()) continue;
    text += fmt::format(" {} {:.0f}%,", in_words(operation), 100.0 * seconds / step.time.total());
  }
  text.back() = ' ';
  return folded(text, columns, 2);
}

std::string pools_text(const PlannedPools& pools, int columns) {
  return folded(
      fmt::format(
          "{} GPUs prefill and {} decode: prompts take {:.0f}% of what the first could take, "
          "sequences {:.0f}% of the others' cache; a prompt's {} of cache are {} on the NICs",
          pools.prefill.gpus(), pools.decode.gpus(), 100.0 * pools.prefill.busy,
          100.0 * pools.decode.busy, format_bytes(pools.transfer_bytes),
          format_seconds(pools.transfer)),
      columns, 2);
}

// The command line that counts the same memory.
std::string fit_command(const PlanQuestion& question, const PlannedLayout& planned) {
  const Layout& layout = planned.layout;
  std::string text = fmt::format("dure fit {} --gpu {} --engine {}", question.model,
                                 question.gpu.name, to_string(question.engine));
  if (!question.engine_version.empty()) text += " --engine-version " + question.engine_version;
  for (const auto& [flag, size] : {std::pair{"tp", layout.tp}, std::pair{"pp", layout.pp},
                                   std::pair{"dp", layout.dp}, std::pair{"ep", layout.ep}}) {
    if (size > 1) text += fmt::format(" --{} {}", flag, size);
  }
  text += fmt::format(" --context {} --sequences {} --max-batch-tokens {}",
                      question.input + question.output,
                      static_cast<int64_t>(planned.decode.load.decodes) * layout.dp, planned.chunk);
  if (planned.kv.name != "bf16") text += " --kv-type " + planned.kv.name;
  if (!question.weights_asked.empty()) text += " --weights " + question.weights_asked;
  if (question.utilization > 0.0) text += fmt::format(" --utilization {}", question.utilization);
  return text;
}

std::string balance_text(const PlannedLayout& best, int columns) {
  const Balance& balance = best.balance;
  std::string text =
      fmt::format("balance: multiplying takes as long as reading weights at {} tokens",
                  tokens_text(balance.dense));
  if (balance.experts > 0.0) {
    text += fmt::format(" of a dp rank for dense matrices, {} for experts",
                        tokens_text(balance.experts));
  }
  text += fmt::format("; a decode step has {}: {}", tokens_text(best.decode.load.decodes),
                      balance.bound == Bound::memory
                          ? "the memory side, where further sequences cost little"
                          : "the compute side, where each further sequence costs its share");
  return folded(text, columns, 2);
}

std::string users_text(const Service& service) {
  if (service.users == 0.0) return "answers of one token are not decoded";
  return fmt::format("{} tokens/s ÷ {} tokens/s per user = {} answered at once",
                     tokens_text(service.tokens_per_s), tokens_text(service.per_user),
                     tokens_text(service.users));
}

// The best layout in full.
std::string details(const PlanQuestion& question, const PlannedLayout& best, int columns) {
  std::string text =
      folded(fmt::format("{}: 8 of 10 measured runs lie within {} and {}", replicas_text(best),
                         band_text("TTFT", best.service.ttft, best.ttft_band),
                         band_text("TPOT", best.service.tpot, best.tpot_band)),
             columns, 2);
  if (!best.unmeasured.empty()) {
    text +=
        folded(fmt::format("outside what these bands were measured on, and may be further off: {}",
                           fmt::join(best.unmeasured, "; ")),
               columns, 2);
  }
  text +=
      folded(fmt::format("users: {}; at most {} requests in flight, which {} ends",
                         users_text(best.service), format_count(best.users_most), best.users_end),
             columns, 2);
  text += balance_text(best, columns);
  if (best.pools) text += pools_text(*best.pools, columns);
  text += folded(fmt::format("a {} has {} node{} with {} rank{} on each; up to {} tokens a step; "
                             "cache {} for {} tokens of each dp rank",
                             best.pools ? "worker that decodes" : "replica", best.nodes_each,
                             best.nodes_each == 1 ? "" : "s", best.ranks_per_node,
                             best.ranks_per_node == 1 ? "" : "s", format_count(best.chunk),
                             best.kv.name, format_count(best.kv_tokens)),
                 columns, 2);
  if (best.batch < no_bound) {
    text += folded(fmt::format("at most {} sequences of each dp rank at once: others wait",
                               format_count(best.batch)),
                   columns, 2);
  }
  text += step_text(
      fmt::format("a decode step of {:.0f} sequences with {} tokens each takes",
                  best.decode.load.decodes, format_count(question.input + question.output / 2))
          .c_str(),
      best.decode, columns);
  text += step_text(
      fmt::format("a prefill step of {:.0f} tokens takes", best.prefill.load.prefill_tokens)
          .c_str(),
      best.prefill, columns);
  text += "\nmemory of each rank, the cache as this load fills it:\n" + memory_table(best);
  return text + folded("as by: " + fit_command(question, best), columns, 2);
}

std::string rule_text(const RuleOfThumb& rule, int columns) {
  std::string text = folded(fmt::format("rule of thumb (tp = GPUs per node, pp = nodes), {}: {}",
                                        in_short(rule.layout), rule.why),
                            columns, 2);
  if (rule.planned) {
    const Service& service = rule.planned->service;
    text += fmt::format("  TTFT {}, TPOT {}, {} tokens/s, {} per GPU\n",
                        format_seconds(service.ttft), format_seconds(service.tpot),
                        tokens_text(service.tokens_per_s), tokens_text(service.per_gpu));
  }
  for (const std::string& line : rule.difference) text += "  a decode step: " + line + '\n';
  return text;
}

std::string front_text(const PlanAnswer& answer) {
  std::vector<ParetoPoint> front;
  for (const ParetoPoint& point : answer.points) {
    if (point.on_front) front.push_back(point);
  }
  if (front.empty()) return "";
  std::sort(front.begin(), front.end(),
            [](const ParetoPoint& a, const ParetoPoint& b) { return a.per_user > b.per_user; });
  Table table({{"tokens/s per user", right},
               {"per GPU", right},
               {"in flight", right},
               {"replicas × layout"}});
  const size_t rows = std::min(front_rows, front.size());
  for (size_t row = 0; row < rows; ++row) {
    const size_t at = rows == 1 ? 0 : row * (front.size() - 1) / (rows - 1);
    const ParetoPoint& point = front[at];
    table.add({tokens_text(point.per_user), tokens_text(point.per_gpu),
               format_count(point.concurrency), replicas_text(point.layout, point.replicas)});
  }
  return fmt::format(
             "fastest for a user to cheapest for you: {} of the {} layouts and loads that no "
             "other beats in both\n",
             rows, front.size()) +
         table.text();
}

std::string rejected_text(const PlanAnswer& answer, int columns) {
  constexpr std::array<std::pair<RejectedFor, const char*>, 8> classes = {{
      {RejectedFor::does_not_fit, "do not fit"},
      {RejectedFor::crosses_nodes, "cross nodes"},
      {RejectedFor::tpot, "miss the TPOT"},
      {RejectedFor::ttft, "miss the TTFT"},
      {RejectedFor::rate, "cannot keep up"},
      {RejectedFor::slower, "are beaten"},
      {RejectedFor::placement, "do not lie evenly on these nodes"},
      {RejectedFor::engine, "the engine cannot split so"},
  }};
  std::string text = fmt::format("{} of {} layouts are not above, each class with its nearest:\n",
                                 answer.rejected.size(), answer.layouts);
  for (const auto& [why, words] : classes) {
    const auto is_so = [why = why](const RejectedLayout& each) { return each.why == why; };
    const auto count = std::count_if(answer.rejected.begin(), answer.rejected.end(), is_so);
    if (count == 0) continue;
    // Of those that do not fit, the last has most ranks; the others are in order.
    const auto last = std::find_if(answer.rejected.rbegin(), answer.rejected.rend(), is_so);
    const auto first = std::find_if(answer.rejected.begin(), answer.rejected.end(), is_so);
    const RejectedLayout& shown = why == RejectedFor::does_not_fit ? *last : *first;
    text +=
        folded(fmt::format("  {} {}: {}: {}", count, words, in_short(shown.layout), shown.reason),
               columns, 4);
  }
  return text;
}

std::string alternatives_text(const PlanAnswer& answer, int columns) {
  if (answer.alternatives.empty()) return "";
  std::string text = "ways out:\n";
  for (const Alternative& each : answer.alternatives) {
    text += folded(fmt::format("  {}: {}", each.title, each.text), columns, 4);
  }
  return text;
}

}  // namespace

std::string plan_text(const PlanQuestion& question, const PlanAnswer& answer, int columns) {
  std::string text = heading(question, answer, columns);
  if (!answer.ranked.empty()) {
    text += ranked_table(answer.ranked) + '\n' + details(question, answer.ranked.front(), columns);
  } else {
    text += folded(answer.verdict, columns, 2);
    if (answer.closest) {
      text += '\n' + ranked_table({*answer.closest}) + '\n' +
              details(question, *answer.closest, columns);
    }
  }
  text += '\n' + rule_text(answer.rule_of_thumb, columns) + '\n';
  const std::string front = front_text(answer);
  if (!front.empty()) text += front + '\n';
  text += rejected_text(answer, columns) + '\n';
  const std::string alternatives = alternatives_text(answer, columns);
  if (!alternatives.empty()) text += alternatives + '\n';
  for (const std::string& note : answer.notes) text += folded("note: " + note, columns, 2);
  for (const std::string& each : answer.assumptions) text += folded("assumed: " + each, columns, 2);
  return text;
}

}  // namespace dure
