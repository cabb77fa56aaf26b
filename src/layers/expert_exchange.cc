// See expert_exchange.h. Every rank knows the routing of all tokens of the chunk, so all counts
// follow from it and nothing but rows is exchanged after that.
#include "layers/expert_exchange.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "layers/capacity.h"

namespace dure {
namespace {

std::span<const std::byte> bytes_of_rows(const float* rows, int64_t count, int64_t width) {
  return std::as_bytes(std::span(rows, static_cast<size_t>(count * width)));
}

std::span<std::byte> writable_bytes(float* rows, int64_t count, int64_t width) {
  return std::as_writable_bytes(std::span(rows, static_cast<size_t>(count * width)));
}

std::vector<int64_t> scaled(const std::vector<int64_t>& rows, int64_t by) {
  std::vector<int64_t> sizes(rows);
  for (int64_t& size : sizes) size *= by;
  return sizes;
}

int64_t sum(const std::vector<int64_t>& values) {
  return std::accumulate(values.begin(), values.end(), int64_t{0});
}

}  // namespace

ExpertExchange::ExpertExchange(const Runtime& runtime, const MoeFfn& moe)
    : layout_(runtime.layout),
      place_(runtime.share.place),
      top_k_(moe.top_k),
      hidden_(runtime.spec.hidden),
      experts_(experts_of(moe, runtime.layout, runtime.share.place.ep)),
      ep_of_expert_(static_cast<size_t>(moe.experts)) {
  for (int ep = 0; ep < layout_.ep; ++ep) {
    const Range range = experts_of(moe, layout_, ep);
    for (int64_t e = range.begin; e < range.end; ++e) ep_of_expert_[static_cast<size_t>(e)] = ep;
  }
}

bool ExpertExchange::wanted(std::span<const int32_t> token_ids, int ep) const {
  return std::any_of(token_ids.begin(), token_ids.end(),
                     [&](int32_t expert) { return ep_of(expert) == ep; });
}

// The routing of all dp groups' tokens, group after group: [all rows, top_k].
std::vector<int32_t> ExpertExchange::ids_of_all(const Runtime& runtime, const int32_t* ids,
                                                std::span<const int64_t> rows_of_dp) const {
  const int64_t all = std::accumulate(rows_of_dp.begin(), rows_of_dp.end(), int64_t{0});
  std::vector<int32_t> all_ids(static_cast<size_t>(all * top_k_));
  if (layout_.dp == 1) {
    std::copy_n(ids, all_ids.size(), all_ids.begin());
    return all_ids;
  }
  std::vector<int64_t> sizes;
  for (int dp = 0; dp < layout_.dp; ++dp) {
    for (int tp = 0; tp < layout_.tp; ++tp) {
      sizes.push_back(owned(rows_of_dp[static_cast<size_t>(dp)], tp).size() * top_k_ *
                      static_cast<int64_t>(sizeof(int32_t)));
    }
  }
  const Range mine = owned(rows_of_dp[static_cast<size_t>(place_.dp)], place_.tp);
  runtime.world.stage().all_gather(
      std::as_bytes(
          std::span(ids + mine.begin * top_k_, static_cast<size_t>(mine.size() * top_k_))),
      sizes, std::as_writable_bytes(std::span(all_ids)), "expert routes");
  return all_ids;
}

// Brings the rows of other dp groups that this rank's experts need into expert_input, own group's
// rows in front. Returns each token's row there, -1 where this rank does not need it.
std::vector<int32_t> ExpertExchange::fetch_rows(const Runtime& runtime, const float* x,
                                                std::span<const int32_t> all_ids,
                                                std::span<const int64_t> rows_of_dp) const {
  const auto ids_of = [&](int64_t token) {
    return all_ids.subspan(static_cast<size_t>(token * top_k_), static_cast<size_t>(top_k_));
  };
  const int64_t own_rows = rows_of_dp[static_cast<size_t>(place_.dp)];
  float* input = runtime.workspace.floats(StepBuffer::expert_input);
  std::vector<int32_t> row_of(all_ids.size() / static_cast<size_t>(top_k_), -1);
  std::vector<int64_t> receive_rows(static_cast<size_t>(layout_.stage_ranks()), 0);
  std::vector<int64_t> send_rows(receive_rows);
  float* const send = runtime.workspace.floats(StepBuffer::dispatch_send);

  int64_t next = own_rows;
  int64_t first_token = 0;  // of the group, among all
  int64_t own_first = 0;
  for (int dp = 0; dp < layout_.dp; ++dp) {
    const int64_t rows = rows_of_dp[static_cast<size_t>(dp)];
    if (dp == place_.dp) own_first = first_token;
    for (int tp = 0; tp < layout_.tp; ++tp) {
      const Range tokens = owned(rows, tp);
      for (int64_t t = tokens.begin; t < tokens.end; ++t) {
        const int64_t token = first_token + t;
        if (dp == place_.dp) {
          row_of[static_cast<size_t>(token)] = static_cast<int32_t>(t);
        } else if (wanted(ids_of(token), place_.ep)) {
          row_of[static_cast<size_t>(token)] = static_cast<int32_t>(next++);
          ++receive_rows[stage_rank(dp, tp)];
        }
      }
    }
    first_token += rows;
  }

  const Range mine = owned(own_rows, place_.tp);
  float* to = send;
  for (int peer = 0; peer < layout_.stage_ranks(); ++peer) {
    if (peer / layout_.tp == place_.dp) continue;
    const int ep = peer / layout_.etp();
    for (int64_t t = mine.begin; t < mine.end; ++t) {
      if (!wanted(ids_of(own_first + t), ep)) continue;
      to = std::copy_n(x + t * hidden_, hidden_, to);
      ++send_rows[static_cast<size_t>(peer)];
    }
  }
  std::copy_n(x, own_rows * hidden_, input);
  const int64_t row_bytes = hidden_ * static_cast<int64_t>(sizeof(float));
  runtime.world.stage().all_to_all(
      bytes_of_rows(send, sum(send_rows), hidden_), scaled(send_rows, row_bytes),
      writable_bytes(input + own_rows * hidden_, sum(receive_rows), hidden_),
      scaled(receive_rows, row_bytes), "dispatch to experts");
  return row_of;
}

Dispatched ExpertExchange::dispatch(const Runtime& runtime, const float* x, const int32_t* ids,
                                    std::span<const int64_t> rows_of_dp) const {
  Dispatched work;
  const std::vector<int32_t> all_ids = ids_of_all(runtime, ids, rows_of_dp);
  const auto tokens = static_cast<int64_t>(all_ids.size()) / top_k_;
  std::vector<int32_t> row_of;
  if (layout_.dp == 1) {
    work.rows = x;
    row_of.resize(static_cast<size_t>(tokens));
    std::iota(row_of.begin(), row_of.end(), 0);
  } else {
    row_of = fetch_rows(runtime, x, all_ids, rows_of_dp);
    work.rows = runtime.workspace.floats(StepBuffer::expert_input);
  }

  // Work rows, counted and then filled expert by expert.
  std::vector<int32_t> work_row(all_ids.size(), -1);  // of (token, slot)
  work.begin.assign(static_cast<size_t>(experts_.size()) + 1, 0);
  const auto local = [&](int32_t expert) { return expert - experts_.begin; };
  for (const int32_t expert : all_ids) {
    if (ep_of(expert) == place_.ep) ++work.begin[static_cast<size_t>(local(expert)) + 1];
  }
  std::partial_sum(work.begin.begin(), work.begin.end(), work.begin.begin());
  work.source.resize(static_cast<size_t>(work.begin.back()));
  std::vector<int32_t> next(work.begin.begin(), work.begin.end());
  for (size_t i = 0; i < all_ids.size(); ++i) {
    if (ep_of(all_ids[i]) != place_.ep) continue;
    const int32_t row = next[static_cast<size_t>(local(all_ids[i]))]++;
    work_row[i] = row;
    work.source[static_cast<size_t>(row)] = row_of[i / static_cast<size_t>(top_k_)];
  }

  if (layout_.stage_ranks() == 1) {
    work.order = std::move(work_row);
    return work;
  }

  // What goes back to whom: the owner of token t gets its slots in order.
  const auto ranks = static_cast<size_t>(layout_.stage_ranks());
  work.send_rows.assign(ranks, 0);
  work.receive_rows.assign(ranks, 0);
  int64_t first_token = 0;
  for (int dp = 0; dp < layout_.dp; ++dp) {
    const int64_t rows = rows_of_dp[static_cast<size_t>(dp)];
    for (int tp = 0; tp < layout_.tp; ++tp) {
      const Range range = owned(rows, tp);
      const bool to_myself = dp == place_.dp && tp == place_.tp;
      const auto begin = static_cast<size_t>((first_token + range.begin) * top_k_);
      const auto end = static_cast<size_t>((first_token + range.end) * top_k_);
      for (size_t i = begin; i < end; ++i) {
        if (work_row[i] >= 0) {
          work.order.push_back(work_row[i]);
          ++work.send_rows[stage_rank(dp, tp)];
        }
        if (!to_myself) continue;
        for (int part = 0; part < layout_.etp(); ++part) {
          if (all_ids[i] < 0) {
            work.where.push_back(dropped_slot);
            continue;
          }
          const auto from = holder(all_ids[i], part);
          // A rank's rows arrive in this very order: position now, offset of the rank below.
          work.where.push_back(static_cast<int32_t>(work.receive_rows[from]++));
        }
      }
      if (!to_myself) continue;
      std::vector<int64_t> offset(ranks, 0);
      std::exclusive_scan(work.receive_rows.begin(), work.receive_rows.end(), offset.begin(),
                          int64_t{0});
      size_t at = 0;
      for (size_t i = begin; i < end; ++i) {
        for (int part = 0; part < layout_.etp(); ++part, ++at) {
          if (work.where[at] == dropped_slot) continue;
          const auto from = holder(all_ids[i], part);
          work.where[at] += static_cast<int32_t>(offset[from]);
        }
      }
    }
    first_token += rows;
  }
  return work;
}

void ExpertExchange::combine(const Runtime& runtime, Dispatched work, const float* results,
                             const int32_t* ids, const float* weights, const float* bias,
                             std::span<const int64_t> rows_of_dp, float* out) const {
  const int64_t rows = rows_of_dp[static_cast<size_t>(place_.dp)];
  const Range mine = owned(rows, place_.tp);
  const float* mine_weights = weights + mine.begin * top_k_;
  const int32_t* mine_ids = ids + mine.begin * top_k_;
  if (layout_.stage_ranks() == 1) {
    // Alone, nothing travels: row i of `order` is where (token, slot) i was computed.
    runtime.backend.combine_experts(results, work.order.data(), mine_weights, bias, mine_ids, rows,
                                    top_k_, 1, hidden_, out);
    return;
  }
  float* send = runtime.workspace.floats(StepBuffer::expert_send);
  float* received = runtime.workspace.floats(StepBuffer::expert_receive);
  float* combined = runtime.workspace.floats(StepBuffer::expert_combined);
  float* to = send;
  for (const int32_t row : work.order) {
    std::copy_n(results + row * hidden_, hidden_, to);
    to += hidden_;
  }
  const int64_t row_bytes = hidden_ * static_cast<int64_t>(sizeof(float));
  runtime.world.stage().all_to_all(bytes_of_rows(send, work.work(), hidden_),
                                   scaled(work.send_rows, row_bytes),
                                   writable_bytes(received, sum(work.receive_rows), hidden_),
                                   scaled(work.receive_rows, row_bytes), "combine from experts");
  runtime.backend.combine_experts(received, work.where.data(), mine_weights, bias, mine_ids,
                                  mine.size(), top_k_, layout_.etp(), hidden_, combined);
  std::vector<int64_t> sizes;
  sizes.reserve(static_cast<size_t>(layout_.tp));
  for (int tp = 0; tp < layout_.tp; ++tp) sizes.push_back(owned(rows, tp).size() * row_bytes);
  runtime.world.tp().all_gather(bytes_of_rows(combined, mine.size(), hidden_), sizes,
                                writable_bytes(out, rows, hidden_), "combined experts");
}

}  // namespace dure
