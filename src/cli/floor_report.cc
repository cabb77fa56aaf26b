// See floor_report.h.
#include "cli/floor_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/units.h"
#include "cli/table.h"
#include "cost/most_bytes.h"

namespace dure {
namespace {

constexpr auto right = Table::Align::right;

Json json_of(const AtBest& row) {
  return {{"gpus", row.gpus},
          {"usable_bytes", row.usable_bytes},
          {"free_after_weights", row.free_after_weights},
          {"kv_tokens", row.kv_tokens},
          {"sequences", row.sequences},
          {"context", row.context}};
}

std::string left_for_cache(const AtBest& row) {
  if (row.free_after_weights >= 0) return format_bytes(row.free_after_weights);
  return fmt::format("{} missing", format_bytes(-row.free_after_weights));
}

}  // namespace

std::string size_table(const std::string& model, const Gpu& gpu,
                       const std::vector<WeightFloor>& floors) {
  Table table({{"weights"}, {"by hand"}, {"GPUs at least", right}});
  for (const WeightFloor& floor : floors) {
    table.add({std::string(floor.format.name), arithmetic_of(floor), format_count(floor.gpus)});
  }
  return fmt::format(
      "{}: {} parameters, weights alone, on {} as sold ({})\n\n{}\n"
      "A floor, not a deployment: the cache, activations and each process need memory too. "
      "`dure fit` with a\nconfig.json or a preset counts them.\n",
      model, format_count(floors.front().parameters), gpu.name,
      format_decimal_bytes(gpu.nominal_bytes), table.text());
}

Json size_json(const std::string& model, const Gpu& gpu, const std::vector<WeightFloor>& floors) {
  const WeightFloor& answer = floors.front();
  Json rows = Json::array();
  for (const WeightFloor& floor : floors) {
    rows.push_back({{"weights", floor.format.name},
                    {"bytes_per_parameter", floor.format.bits_per_weight / 8},
                    {"weight_bytes", floor.weight_bytes},
                    {"min_gpus", floor.gpus},
                    {"arithmetic", arithmetic_of(floor)}});
  }
  return {{"model", model},
          {"total_params", answer.parameters},
          {"gpu", gpu.name},
          {"gpu_bytes", gpu.usable_bytes},
          {"gpu_bytes_as_sold", gpu.nominal_bytes},
          {"weight_bytes", answer.weight_bytes},
          {"min_gpus", answer.gpus},
          {"floor_table", rows},
          {"assumptions", {{"weights", answer.format.name}, {"weights_alone", true}}}};
}

std::vector<AtBest> at_best_around(const MemoryModel& model, const FitQuestion& question,
                                   int64_t floor_gpus) {
  const int64_t floor = std::min(floor_gpus, most_bytes / 2);
  std::vector<AtBest> rows = {at_best(model, question, floor)};
  for (const int64_t gpus : {floor + (floor + 1) / 2, 2 * floor}) {
    if (gpus > rows.back().gpus) rows.push_back(at_best(model, question, gpus));
  }
  return rows;
}

std::string at_best_table(const std::vector<AtBest>& rows, const FitQuestion& question) {
  const char* const machine = question.shared ? "machines" : "GPUs";
  Table table({{machine},
               {"usable", right},
               {"left for the cache", right},
               {"tokens", right},
               {fmt::format("sequences of {}", format_count(rows.front().context)), right}});
  for (const AtBest& row : rows) {
    const double times = static_cast<double>(row.gpus) / static_cast<double>(rows.front().gpus);
    const std::string gpus = row.gpus == rows.front().gpus
                                 ? format_count(row.gpus) + " (the floor)"
                                 : fmt::format("{} ({:.1f} ×)", format_count(row.gpus), times);
    table.add({gpus, format_bytes(row.usable_bytes), left_for_cache(row),
               format_count(row.kv_tokens), format_count(row.sequences)});
  }
  return fmt::format(
      "Why the floor is no deployment: what it leaves at best, if all were divided evenly "
      "({} of each;\nactivations and exchanges not counted)\n{}",
      format_bytes(rows.front().usable_bytes / rows.front().gpus), table.text());
}

Json at_best_json(const std::vector<AtBest>& rows) {
  Json json = json_of(rows.front());
  json["more_gpus"] = Json::array();
  for (size_t i = 1; i < rows.size(); ++i) json["more_gpus"].push_back(json_of(rows[i]));
  return json;
}

}  // namespace dure
