// See fit.h.
#include "cost/fit.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "cost/most_bytes.h"

namespace dure {
namespace {

constexpr int64_t most_pages_of_a_cache = std::numeric_limits<int32_t>::max();

RankMemory memory_of(const MemoryModel& model, const FitQuestion& question, const Layout& layout,
                     int rank, int64_t pages) {
  RunShape shape = question.shape_for(model.spec(), layout.dp);
  shape.pages = pages;
  if (question.engine) {
    const ModelSpec& spec = model.spec();
    const RankShare share = share_of(spec, layout, rank);
    RankMemory memory = engine_rank_memory(model, *question.engine, layout, rank);
    const int64_t kept =
        state_bytes(spec, layout, share) + window_bytes(spec, layout, share, shape);
    memory.kv = bounded_sum(bounded_product(pages, kv_page_bytes(spec, layout, share, shape)),
                            bounded_product(shape.states, kept));
    return memory;
  }
  RankMemory memory = model.of(layout, rank, shape);
  if (!question.shared) {
    memory.communication += gpu_dispatch_workspace(model.spec(), layout, shape.max_batch_tokens);
  }
  return memory;
}

int64_t page_bytes_of(const MemoryModel& model, const FitQuestion& question, const Layout& layout,
                      int rank) {
  return kv_page_bytes(model.spec(), layout, share_of(model.spec(), layout, rank),
                       question.shape_for(model.spec(), layout.dp));
}

// Ranks whose memory is one: a machine's where it is shared, else each alone.
int ranks_per_memory(const FitQuestion& question, const Layout& layout) {
  if (!question.shared) return 1;
  return question.ranks_per_node > 0 ? question.ranks_per_node : layout.world();
}

// Sums over ranks of caches that nobody could build stop here instead of wrapping.
constexpr int64_t most_missing = -(int64_t{1} << 61);

int64_t after(int64_t free, int64_t bytes) {
  return std::max(free - bytes, most_missing);
}

// Pages that fit into the memory that `first` and the ranks after it share, beside all else.
int64_t pages_of_memory(const MemoryModel& model, const FitQuestion& question, int first,
                        std::vector<RankFit>* ranks) {
  const Layout& layout = question.layout;
  const int last = std::min(first + ranks_per_memory(question, layout), layout.world());
  int64_t free = budget_of(model, question, layout);
  int64_t page = 0;  // bytes, over these ranks
  for (int rank = first; rank < last; ++rank) {
    const RankMemory memory = memory_of(model, question, layout, rank, 0);
    if (ranks != nullptr) ranks->push_back({memory, 0});
    free = after(free, memory.charged());
    page += page_bytes_of(model, question, layout, rank);
  }
  if (free < 0) return 0;
  return page == 0 ? most_pages_of_a_cache : std::min(free / page, most_pages_of_a_cache);
}

// Whole sequences that fit into that memory in each dp group, beside all but the cache.
int64_t sequences_of_memory(const MemoryModel& model, const FitQuestion& question, int first,
                            const std::vector<RankFit>& ranks) {
  const Layout& layout = question.layout;
  const RunShape shape = question.shape_for(model.spec(), layout.dp);
  const int last = std::min(first + ranks_per_memory(question, layout), layout.world());
  int64_t free = budget_of(model, question, layout);
  int64_t each = 0;  // bytes, over these ranks
  for (int rank = first; rank < last; ++rank) {
    const RankMemory& memory = ranks[static_cast<size_t>(rank)].memory;
    free = after(free, memory.charged() - memory.kv);
    const RankShare share = share_of(model.spec(), layout, rank);
    each = bounded_sum(each, sequence_bytes(model.spec(), layout, share, shape));
  }
  if (free < 0) return 0;
  return each == 0 ? most_pages_of_a_cache : std::min(free / each, most_pages_of_a_cache);
}

// Adds the pages to what every rank holds, and says what that leaves.
void fill_cache(const MemoryModel& model, const FitQuestion& question, int64_t pages,
                FitAnswer& answer) {
  answer.pages = pages;
  const int together = ranks_per_memory(question, answer.layout);
  const int world = answer.layout.world();
  int64_t least = std::numeric_limits<int64_t>::max();
  for (int first = 0; first < world; first += together) {
    const int last = std::min(first + together, world);
    int64_t free = budget_of(model, question, answer.layout);
    for (int rank = first; rank < last; ++rank) {
      RankMemory& memory = answer.ranks[static_cast<size_t>(rank)].memory;
      memory.kv = bounded_sum(
          memory.kv, bounded_product(pages, page_bytes_of(model, question, answer.layout, rank)));
      free = after(free, memory.charged());
    }
    for (int rank = first; rank < last; ++rank) {
      answer.ranks[static_cast<size_t>(rank)].free = free;
    }
    if (free < least) {
      least = free;
      answer.tightest = static_cast<size_t>(first);
    }
  }
}

}  // namespace

void ask_for_engine(const EngineProfile& profile, double utilization, int64_t batch_tokens,
                    FitQuestion& question) {
  EngineRun run;
  run.profile = profile;
  run.gpu_bytes = question.memory_bytes;
  run.utilization = utilization;
  run.max_len = question.context;
  run.element_bytes = question.shape.compute == Compute::fp32 ? 4 : 2;
  run.kv_element_bytes = question.shape.kv_element_bytes;
  run.batch_tokens = batch_tokens;
  question.shape.page_tokens = profile.page_tokens;
  question.shape.overhead = profile.context;
  question.shape.max_batch_tokens = batch_tokens > 0 ? batch_tokens : profile.batch_tokens;
  question.utilization = engine_utilization(run, question.layout);
  question.engine = run;
}

int64_t FitQuestion::budget() const {
  return static_cast<int64_t>(static_cast<double>(memory_bytes) * utilization);
}

int64_t FitQuestion::pages_needed(const ModelSpec& spec, int dp) const {
  if (context == 0) return 1;
  return bounded_product(sequence_pages(spec, shape_for(spec, dp)), (sequences + dp - 1) / dp);
}

RunShape FitQuestion::shape_for(const ModelSpec& spec, int dp) const {
  RunShape all = shape;
  all.context = context > 0 ? context : spec.context;
  all.states = (sequences + dp - 1) / dp;
  return all;
}

int FitQuestion::nodes_of(const Layout& of) const {
  const int each = ranks_per_node > 0 ? ranks_per_node : of.world();
  return (of.world() + each - 1) / each;
}

int64_t budget_of(const MemoryModel& model, const FitQuestion& question, const Layout& layout) {
  return question.engine ? engine_budget(model, *question.engine, layout) : question.budget();
}

FitAnswer fit(const MemoryModel& model, const FitQuestion& question) {
  const Layout& layout = question.layout;
  FitAnswer answer;
  answer.layout = layout;
  answer.most_pages = most_pages_of_a_cache;
  int64_t sequences = most_pages_of_a_cache;
  for (int first = 0; first < layout.world(); first += ranks_per_memory(question, layout)) {
    answer.most_pages =
        std::min(answer.most_pages, pages_of_memory(model, question, first, &answer.ranks));
    sequences = std::min(sequences, sequences_of_memory(model, question, first, answer.ranks));
  }
  answer.most_sequences = sequences * layout.dp;
  if (answer.most_pages == most_pages_of_a_cache) {
    // No layer keeps all tokens: what sequences keep bounds them.
    const RunShape shape = question.shape_for(model.spec(), layout.dp);
    answer.most_pages = std::min(bounded_product(sequences, sequence_pages(model.spec(), shape)),
                                 most_pages_of_a_cache);
  }
  const int64_t needed = question.pages_needed(model.spec(), layout.dp);
  answer.fits = answer.most_pages >= needed;
  const bool all_of_it = answer.fits && question.context == 0;
  fill_cache(model, question, all_of_it ? answer.most_pages : needed, answer);
  return answer;
}

bool ends_fit(const MemoryModel& model, const FitQuestion& question) {
  const int64_t needed = question.pages_needed(model.spec(), question.layout.dp);
  const int together = ranks_per_memory(question, question.layout);
  const int last = (question.layout.world() - 1) / together * together;
  return pages_of_memory(model, question, 0, nullptr) >= needed &&
         pages_of_memory(model, question, last, nullptr) >= needed;
}

int64_t gpu_dispatch_workspace(const ModelSpec& spec, const Layout& layout,
                               int64_t max_batch_tokens) {
  constexpr int64_t bf16_bytes = 2;
  return layout.ep == 1 ? 0 : layout.ep * max_batch_tokens * spec.hidden * bf16_bytes;
}

}  // namespace dure
