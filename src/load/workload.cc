// See workload.h.
#include "load/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/units.h"

namespace dure::load {
namespace {

// Keys of pieces: what a piece is, and its number among those.
enum class PieceKind : uint64_t { own, shared, block, warm_up };

uint64_t key_of(PieceKind kind, uint64_t number) {
  return (static_cast<uint64_t>(kind) << 62) ^ number;
}

std::vector<int64_t> shuffled_groups(const SharedPrefix& shared, uint64_t seed) {
  std::vector<int64_t> order;
  for (int64_t i = 0; i < shared.groups * shared.prompts; ++i) order.push_back(i % shared.groups);
  Draws draws(seed, DrawPurpose::order);
  for (size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1],
              order[static_cast<size_t>(draws.between(0, static_cast<int64_t>(i) - 1))]);
  }
  return order;
}

std::vector<Piece> blocks_of(const TraceRow& row, int64_t block_tokens) {
  std::vector<Piece> pieces;
  int64_t left = row.input;
  for (const uint64_t block : row.blocks) {
    const int64_t tokens = std::min(left, block_tokens);
    pieces.push_back({key_of(PieceKind::block, block), tokens});
    left -= tokens;
  }
  return pieces;
}

}  // namespace

SharedPrefix SharedPrefix::parse(std::string_view text, std::string_view what) {
  constexpr int64_t most_requests = 10'000'000;  // their order is drawn beforehand
  std::array<int64_t, 3> counts{};
  std::string_view rest = text;
  for (size_t i = 0; i < counts.size(); ++i) {
    const size_t end = i < 2 ? rest.find('x') : rest.size();
    if (end == std::string_view::npos) {
      throw_bad_input(fmt::format("{}: cannot read '{:.60}'", what, text),
                      "write groups x prompts of each x tokens that they share: 150x5x1500",
                      std::string(what));
    }
    counts[i] = parse_count(rest.substr(0, end), what);
    rest = rest.substr(std::min(end + 1, rest.size()));
  }
  const SharedPrefix shared{counts[0], counts[1], counts[2]};
  if (shared.tokens > most_tokens || shared.groups > most_requests ||
      shared.prompts > most_requests || shared.groups * shared.prompts > most_requests) {
    throw_bad_input(fmt::format("{}: '{:.60}' is more than could be sent", what, text), "",
                    std::string(what));
  }
  return shared;
}

Workload::Workload(WorkloadSpec spec)
    : spec_(std::move(spec)), arrivals_(spec_.seed, DrawPurpose::arrivals) {
  DURE_CHECK(is_closed() || spec_.rate > 0.0 || !spec_.trace.rows.empty());
  size_ = spec_.requests;
  if (!spec_.trace.rows.empty()) size_ = std::min<int64_t>(size_, std::ssize(spec_.trace.rows));
  order_ = shuffled_groups(spec_.shared, spec_.seed);
}

void Workload::make_prompt(RequestPlan& plan, bool shares) const {
  const auto number = static_cast<uint64_t>(plan.number);
  Draws lengths(spec_.seed, DrawPurpose::lengths, number);
  plan.input = spec_.input.draw(lengths);
  plan.output = spec_.output.draw(lengths);
  if (!spec_.prompts.empty()) {
    const GivenPrompt& given = spec_.prompts[number % spec_.prompts.size()];
    plan.output = given.output.value_or(plan.output);
    plan.input = 0;
    plan.prompt = given;
    return;
  }
  std::vector<Piece> pieces;
  if (!spec_.trace.rows.empty()) {
    const TraceRow& row = spec_.trace.rows[number % spec_.trace.rows.size()];
    plan.input = row.input;
    plan.output = row.output;
    if (shares) pieces = blocks_of(row, spec_.trace.block_tokens);
  }
  if (!order_.empty()) {
    const int64_t group = order_[number % order_.size()];
    if (shares)
      pieces.push_back(
          {key_of(PieceKind::shared, static_cast<uint64_t>(group)), spec_.shared.tokens});
    plan.input += spec_.shared.tokens;
  }
  int64_t own = plan.input;
  for (const Piece& piece : pieces) own -= piece.tokens;
  if (own > 0)
    pieces.push_back({key_of(shares ? PieceKind::own : PieceKind::warm_up, number), own});
  plan.prompt = std::move(pieces);
}

std::optional<RequestPlan> Workload::next() {
  if (made_ >= size_) return std::nullopt;
  RequestPlan plan;
  plan.number = made_;
  if (!spec_.trace.rows.empty() && !is_closed()) {
    plan.at_s = spec_.trace.rows[static_cast<size_t>(made_)].at_s / spec_.speed;
  } else if (!is_closed() && !std::isinf(spec_.rate)) {
    clock_s_ += arrivals_.exponential(1.0 / spec_.rate);
    plan.at_s = clock_s_;
  }
  if (plan.at_s >= spec_.duration_s) {
    made_ = size_;
    return std::nullopt;
  }
  ++made_;
  make_prompt(plan, true);
  Draws cancels(spec_.seed, DrawPurpose::cancels, static_cast<uint64_t>(plan.number));
  if (cancels.uniform() < spec_.cancel_fraction) {
    plan.cancel_after = cancels.between(0, plan.output - 1);
  }
  return plan;
}

RequestPlan Workload::warm_up(int64_t index) const {
  RequestPlan plan;
  plan.number = index;
  make_prompt(plan, false);
  return plan;
}

}  // namespace dure::load
