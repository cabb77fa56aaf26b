// See fit_report.h.
#include "cli/fit_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "cli/floor_report.h"
#include "cli/memory_report.h"
#include "cli/table.h"

namespace dure {
namespace {

struct Held {  // what a rank has, for the map of ranks
  Range layers;
  Range experts;
  RankPlace place;
};

Held held_by(const ModelSpec& spec, const Layout& layout, int rank) {
  const RankShare share = share_of(spec, layout, rank);
  Held held{share.layers, {}, share.place};
  for (int64_t i = share.layers.begin; i < share.layers.end; ++i) {
    const auto* moe = std::get_if<MoeFfn>(&spec.layers[static_cast<size_t>(i)].ffn);
    if (moe != nullptr) held.experts = experts_of(*moe, layout, share.place.ep);
  }
  return held;
}

std::vector<std::string> cells_of(const Held& held, const RankFit& rank, bool graphs) {
  const RankMemory& memory = rank.memory;
  std::vector<std::string> cells = {span_text(held.layers),
                                    span_text(held.experts),
                                    format_bytes(memory.weights),
                                    format_bytes(memory.padding),
                                    format_bytes(memory.kv),
                                    format_bytes(memory.activation),
                                    format_bytes(memory.communication),
                                    format_bytes(memory.overhead)};
  if (graphs) cells.push_back(format_bytes(memory.cuda_graphs));
  cells.push_back(format_bytes(rank.free));
  return cells;
}

// Neighbours that hold and need the same are one line.
std::string rank_table(const ModelSpec& spec, const FitReport& report) {
  constexpr auto right = Table::Align::right;
  const bool graphs = report.question.engine.has_value();
  std::vector<Table::Column> columns = {
      {"ranks"},          {"layers"},    {"experts"},           {"weights", right},
      {"padding", right}, {"kv", right}, {"activation", right}, {"communication", right},
      {"overhead", right}};
  if (graphs) columns.push_back({"CUDA graphs", right});
  columns.push_back({report.question.shared ? "free on machine" : "free", right});
  Table table(columns);
  const FitAnswer& answer = report.answer;
  const int world = answer.layout.world();
  for (int first = 0; first < world;) {
    const auto cells = cells_of(held_by(spec, answer.layout, first),
                                answer.ranks[static_cast<size_t>(first)], graphs);
    int last = first + 1;
    while (last < world && cells_of(held_by(spec, answer.layout, last),
                                    answer.ranks[static_cast<size_t>(last)], graphs) == cells) {
      ++last;
    }
    std::vector<std::string> row = {span_text({first, last})};
    row.insert(row.end(), cells.begin(), cells.end());
    table.add(row);
    first = last;
  }
  return table.text();
}

std::string nearest_line(const FitReport& report) {
  if (!report.nearest) return "no layout of up to 1024 ranks fits";
  const Layout& layout = report.nearest->layout;
  const std::string machines =
      report.question.shared
          ? fmt::format(" on {} machines like this one", report.question.nodes_of(layout))
          : "";
  return fmt::format("nearest layout that fits: {}, {} ranks{}", to_string(layout), layout.world(),
                     machines);
}

int64_t context_of(const ModelSpec& spec, const FitReport& report) {
  return report.question.context > 0 ? report.question.context : spec.context;
}

bool has_windows(const ModelSpec& spec) {
  return std::any_of(spec.layers.begin(), spec.layers.end(),
                     [](const LayerSpec& layer) { return window_of(layer.attention).has_value(); });
}

// Of one dp group.
int64_t tokens_in(const ModelSpec& spec, const FitReport& report, int64_t pages) {
  return tokens_held(spec, report.question.shape_for(spec, report.answer.layout.dp), pages);
}

std::string verdict(const ModelSpec& spec, const FitReport& report) {
  const FitAnswer& answer = report.answer;
  const int64_t tokens = tokens_in(spec, report, answer.pages) * answer.layout.dp;
  if (answer.fits) {
    return fmt::format("fits: a cache of {} tokens in all; {} sequences of {} at once",
                       format_count(tokens), format_count(answer.most_sequences),
                       format_count(context_of(spec, report)));
  }
  return fmt::format("does not fit: {} missing on the fullest {}\n{}",
                     format_bytes(-answer.ranks[answer.tightest].free),
                     report.question.shared ? "machine" : "rank", nearest_line(report));
}

// Whose memory was counted, and how another's can be.
std::string engine_of(const FitQuestion& question) {
  if (question.engine) return question.engine->profile.label;
  return question.shared ? "dure" : "dure (another's by --engine vllm, sglang or trtllm)";
}

// What the engine prints at start; nothing for Dure itself.
std::string printed_line(const ModelSpec& spec, const FitReport& report) {
  if (!report.printed) return "";
  const std::string& label = report.question.engine->profile.label;
  if (!report.printed->known) {
    return fmt::format("what {} prints for such a cache is not known\n", label);
  }
  return fmt::format(
      "{} would print {} on the first GPU and {} cache tokens: {:.2f} sequences of {}{}\n", label,
      format_bytes(std::max<int64_t>(report.printed->pool, 0)),
      format_count(report.printed->tokens), report.printed->sequences,
      format_count(context_of(spec, report)),
      report.answer.layout.dp > 1 ? ", in each dp group" : "");
}

std::string assumptions(const ModelSpec& spec, const FitReport& report) {
  const FitQuestion& question = report.question;
  return fmt::format(
      "assumed: engine {}; weights {}, compute {}, cache {} in pages of {}{}; {} tokens a step; "
      "{} of the {} usable on {}; overhead {} a rank\n",
      engine_of(question), report.weight_format, to_string(question.shape.compute),
      report.kv_format, question.shape.page_tokens,
      has_windows(spec) ? ", windowed layers keep their windows" : "",
      format_count(question.shape.max_batch_tokens),
      fmt::format("{:.0f}%", question.utilization * 100), format_bytes(question.memory_bytes),
      report.gpu.name, format_bytes(question.shape.overhead));
}

Json ranks_json(const ModelSpec& spec, const FitAnswer& answer) {
  Json ranks = Json::array();
  for (int rank = 0; rank < answer.layout.world(); ++rank) {
    const Held held = held_by(spec, answer.layout, rank);
    Json json = rank_json(held.place, held.layers, held.experts);
    put_memory(json, answer.ranks[static_cast<size_t>(rank)].memory,
               answer.ranks[static_cast<size_t>(rank)].free);
    ranks.push_back(json);
  }
  return ranks;
}

}  // namespace

std::string fit_table(const ModelSpec& spec, const FitReport& report) {
  std::string text = fmt::format(
      "{}: weights {} ({}) as {}, at least {} × {} for them alone\n\n{}\n", report.model,
      format_decimal_bytes(report.weight_bytes), format_bytes(report.weight_bytes),
      report.weight_format, report.min_gpus, report.gpu.name, to_string(report.answer.layout));
  text += rank_table(spec, report) + '\n' + verdict(spec, report) + '\n';
  text += printed_line(spec, report);
  for (const std::string& remark : report.remarks) text += "note: " + remark + '\n';
  return text + assumptions(spec, report) + '\n' + at_best_table(report.at_best, report.question);
}

Json fit_json(const ModelSpec& spec, const FitReport& report) {
  const FitQuestion& question = report.question;
  const FitAnswer& answer = report.answer;
  Json json = {
      {"model", report.model},
      {"gpu", report.gpu.name},
      {"gpu_bytes", report.gpu.usable_bytes},
      {"gpu_bytes_as_sold", report.gpu.nominal_bytes},
      {"usable_bytes", question.memory_bytes},
      {"min_gpus", report.min_gpus},
      {"weight_bytes", report.weight_bytes},
      {"floor", at_best_json(report.at_best)},
      {"layout", layout_json(answer.layout)},
      {"nodes", question.nodes_of(answer.layout)},
      {"fits", answer.fits},
      {"kv_tokens", tokens_in(spec, report, answer.pages) * answer.layout.dp},
      {"kv_tokens_per_dp_group", tokens_in(spec, report, answer.pages)},
      {"max_kv_tokens", tokens_in(spec, report, answer.most_pages) * answer.layout.dp},
      {"max_sequences", answer.most_sequences},
      {"tightest_rank", answer.tightest},
  };
  put_memory(json, answer.ranks[answer.tightest].memory, answer.ranks[answer.tightest].free);
  json["engine_prints"] = nullptr;
  if (report.printed && report.printed->known) {
    json["engine_prints"] = {{"kv_bytes", report.printed->pool},
                             {"kv_tokens", report.printed->tokens},
                             {"max_concurrency", report.printed->sequences}};
  }
  json["ranks"] = ranks_json(spec, answer);
  json["nearest"] = nullptr;
  if (report.nearest) {
    json["nearest"] = layout_json(report.nearest->layout);
    json["nearest"]["nodes"] = question.nodes_of(report.nearest->layout);
  }
  json["keeps_the_same_bits"] = keeps_the_same_bits(spec, answer.layout);
  json["remarks"] = report.remarks;
  const EngineProfile* engine = question.engine ? &question.engine->profile : nullptr;
  json["assumptions"] = {{"engine", to_string(engine != nullptr ? engine->engine : Engine::dure)},
                         {"engine_version", engine != nullptr ? engine->version : DURE_VERSION},
                         {"overheads", engine != nullptr ? engine->label : "dure"},
                         {"weights", report.weight_format},
                         {"compute", to_string(question.shape.compute)},
                         {"kv_dtype", report.kv_format},
                         {"windowed_layers_keep", has_windows(spec) ? "their windows" : ""},
                         {"page_tokens", question.shape.page_tokens},
                         {"max_batch_tokens", question.shape.max_batch_tokens},
                         {"utilization", question.utilization},
                         {"overhead", question.shape.overhead},
                         {"shared_memory", question.shared},
                         {"context", question.context},
                         {"sequences", question.sequences}};
  return json;
}

}  // namespace dure
