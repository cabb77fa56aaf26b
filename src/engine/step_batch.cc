// See step_batch.h.
#include "engine/step_batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/error.h"
#include "engine/check_setup.h"

namespace dure {
namespace {

// What is wrong with a slice's pages; nothing: "".
std::string fault_of(const PageTable& table, const PageClass& of_class, const Slice& slice,
                     const StepLimits& limits) {
  const int64_t begin = of_class.first_block(slice.start, limits.page_tokens);
  const int64_t tokens = slice.start + static_cast<int64_t>(slice.tokens.size());
  const int64_t end = (tokens + limits.page_tokens - 1) / limits.page_tokens;
  const int64_t last = table.first + static_cast<int64_t>(table.pages.size());
  if (table.first < 0 || table.first > begin || last < end) {
    return fmt::format("pages {} to {} where {} to {} are needed", table.first, last, begin, end);
  }
  for (const int32_t page : table.pages) {
    if (page < 0 || page >= limits.pages) return fmt::format("page {} of {}", page, limits.pages);
  }
  return "";
}

void check_slice(const Step& step, const Slice& slice, const Layout& layout,
                 const StepLimits& limits) {
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorCode::failed,
                fmt::format("step {}, sequence {}: {}", step.id, slice.sequence, why));
  };
  const auto tokens = static_cast<int64_t>(slice.tokens.size());
  if (slice.dp < 0 || slice.dp >= layout.dp) refuse(fmt::format("no dp group {}", slice.dp));
  if (tokens == 0) refuse("no tokens");
  if (slice.start < 0 || slice.start + tokens > limits.context) {
    refuse(fmt::format("positions {} to {} leave the context of {}", slice.start,
                       slice.start + tokens, limits.context));
  }
  for (const int32_t token : slice.tokens) {
    if (token < 0 || token >= limits.vocab) {
      refuse(fmt::format("token {} is not in the vocabulary of {}", token, limits.vocab));
    }
  }
  size_t tables = 0;
  for (const PageClass& of_class : limits.classes) {
    for (int32_t i = 0; i < of_class.tables; ++i, ++tables) {
      if (tables == slice.tables.size()) refuse(fmt::format("only {} page tables", tables));
      const std::string why = fault_of(slice.tables[tables], of_class, slice, limits);
      if (!why.empty()) refuse(fmt::format("page table {}: {}", tables, why));
    }
  }
  if (tables < slice.tables.size()) {
    refuse(fmt::format("{} page tables where {} are needed", slice.tables.size(), tables));
  }
  if (slice.state < 0 || slice.state >= limits.states) {
    refuse(fmt::format("state {} of {}", slice.state, limits.states));
  }
  if (const std::string fault = setup_fault(slice, limits.vocab); !fault.empty()) refuse(fault);
}

}  // namespace

StepBatch batch_of(const Step& step, const Layout& layout, const RankPlace& place,
                   const StepLimits& limits) {
  StepBatch result;
  Batch& batch = result.batch;
  batch.context = limits.context;
  for (const PageClass& of_class : limits.classes) {
    batch.slices.resize(batch.slices.size() + static_cast<size_t>(of_class.tables));
  }
  batch.rows_of_dp.assign(static_cast<size_t>(layout.dp), 0);
  std::set<std::pair<int, int>> taken;  // dp group and state
  for (const Slice& slice : step.slices) {
    check_slice(step, slice, layout, limits);
    if (!taken.insert({slice.dp, slice.state}).second) {
      throw Error(ErrorCode::failed, fmt::format("step {}, sequence {}: state {} is another's",
                                                 step.id, slice.sequence, slice.state));
    }
    const auto tokens = static_cast<int64_t>(slice.tokens.size());
    batch.rows_of_dp[static_cast<size_t>(slice.dp)] += tokens;
    result.traced |= slice.want == Want::all_logits;
    if (slice.dp != place.dp) continue;
    result.slices.push_back(&slice);
    for (size_t i = 0; i < slice.tables.size(); ++i) {
      batch.slices[i].push_back(
          {batch.rows(), tokens, slice.start, slice.tables[i].pages, slice.tables[i].first});
    }
    batch.states.push_back({batch.rows(), tokens, slice.start, slice.state});
    for (int64_t i = 0; i < tokens; ++i) {
      batch.row_index.push_back(static_cast<int32_t>(batch.tokens.size()));
      batch.lengths.push_back(slice.length);
      batch.positions.push_back(static_cast<int32_t>(slice.start + i));
      batch.tokens.push_back(slice.tokens[static_cast<size_t>(i)]);
    }
  }
  const int64_t most = *std::max_element(batch.rows_of_dp.begin(), batch.rows_of_dp.end());
  if (most > limits.max_batch_tokens) {
    throw Error(ErrorCode::failed,
                fmt::format("step {}: {} tokens of one dp group, but buffers for {}", step.id, most,
                            limits.max_batch_tokens));
  }
  return result;
}

}  // namespace dure
