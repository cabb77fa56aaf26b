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
  const int64_t need = (slice.start + tokens + limits.page_tokens - 1) / limits.page_tokens;
  if (static_cast<int64_t>(slice.pages.size()) < need) {
    refuse(fmt::format("{} pages where {} are needed", slice.pages.size(), need));
  }
  if (slice.state < 0 || slice.state >= limits.states) {
    refuse(fmt::format("state {} of {}", slice.state, limits.states));
  }
  if (const std::string fault = setup_fault(slice, limits.vocab); !fault.empty()) refuse(fault);
  for (const int32_t page : slice.pages) {
    if (page < 0 || page >= limits.pages) {
      refuse(fmt::format("page {} of {}", page, limits.pages));
    }
  }
}

}  // namespace

StepBatch batch_of(const Step& step, const Layout& layout, const RankPlace& place,
                   const StepLimits& limits) {
  StepBatch result;
  Batch& batch = result.batch;
  batch.context = limits.context;
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
    batch.slices.push_back({batch.rows(), tokens, slice.start, slice.pages});
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
