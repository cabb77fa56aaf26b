// See check_fits.h.
#include "cost/check_fits.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/units.h"
#include "cost/fit.h"

namespace dure {
namespace {

// Over more machines like this one, with the same cache.
std::string nearest_layout(const ModelSpec& spec, const Layout& layout, const RunShape& shape,
                           int ranks_here, int64_t available) {
  FitQuestion question;
  question.layout = layout;
  question.shape = shape;
  question.memory_bytes = available;
  question.shared = true;
  question.ranks_per_node = ranks_here;
  question.utilization = 1.0;
  question.context = tokens_held(spec, shape, std::max<int64_t>(shape.pages, 1));
  question.sequences = layout.dp;
  const std::optional<FitAnswer> nearest = nearest_that_fits(MemoryModel(spec), question);
  if (!nearest) return "no layout of up to 1024 ranks on machines like this one fits";
  return fmt::format("the nearest that fits is {} on {} machines like this one",
                     to_string(nearest->layout), question.nodes_of(nearest->layout));
}

}  // namespace

void check_fits_this_machine(const ModelSpec& spec, const std::vector<Weight>& weights,
                             const Layout& layout, const RunShape& shape, int ranks_here,
                             int64_t available) {
  const int here = ranks_here > 0 ? std::min(ranks_here, layout.world()) : layout.world();
  RankMemory sum;
  int64_t page = 0;  // bytes of one page over all ranks here
  for (int rank = 0; rank < here; ++rank) {
    const RankMemory memory = rank_memory(weights, spec, layout, rank, shape);
    sum.weights += memory.weights;
    sum.padding += memory.padding;
    sum.kv += memory.kv;
    sum.activation += memory.activation;
    sum.communication += memory.communication;
    sum.overhead += memory.overhead;
    page += kv_page_bytes(spec, layout, share_of(spec, layout, rank), shape);
  }
  if (sum.total() <= available) return;
  // Recurrent states stay, however small the cache.
  const int64_t states = sum.kv - shape.pages * page;
  const int64_t fixed = sum.total() - shape.pages * page;
  const int64_t pages = page > 0 ? (available - fixed) / page : 0;
  throw Error(
      ErrorCode::answer_is_no,
      fmt::format("{} does not fit on this machine: {} ranks need {} (weights {}, cache {}, "
                  "buffers {}, overhead {}) and {} is available",
                  to_string(layout), here, format_bytes(sum.total()),
                  format_bytes(sum.weights + sum.padding), format_bytes(sum.kv),
                  format_bytes(sum.activation + sum.communication), format_bytes(sum.overhead),
                  format_bytes(available)),
      fixed < available && pages > 0 ? fmt::format("a cache of {} tokens fits: {} with --kv-memory",
                                                   format_count(tokens_held(spec, shape, pages)),
                                                   format_bytes(states + pages * page))
                                     : nearest_layout(spec, layout, shape, here, available));
}

}  // namespace dure
