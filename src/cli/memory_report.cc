// See memory_report.h.
#include "cli/memory_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace dure {

std::string span_text(Range range) {
  if (range.size() == 0) return "–";
  if (range.size() == 1) return fmt::format("{}", range.begin);
  return fmt::format("{}–{}", range.begin, range.end - 1);
}

Json layout_json(const Layout& layout) {
  return {{"tp", layout.tp},
          {"pp", layout.pp},
          {"dp", layout.dp},
          {"ep", layout.ep},
          {"world", layout.world()}};
}

void put_memory(Json& json, const RankMemory& memory, int64_t free) {
  json["weights"] = memory.weights;
  json["padding"] = memory.padding;
  json["kv"] = memory.kv;
  json["activation"] = memory.activation;
  json["communication"] = memory.communication;
  json["overhead"] = memory.overhead;
  json["cuda_graphs"] = memory.cuda_graphs;
  json["outside_budget"] = memory.outside;
  json["free"] = free;
}

Json rank_json(const RankPlace& place, Range layers, Range experts) {
  return {{"rank", place.rank},
          {"stage", place.stage},
          {"dp", place.dp},
          {"tp", place.tp},
          {"ep", place.ep},
          {"layers", {layers.begin, layers.end}},
          {"experts", {experts.begin, experts.end}}};
}

}  // namespace dure
