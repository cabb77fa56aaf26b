// Moves tokens of an MoE layer to the ranks that hold their experts and the results back.
//
// Within a dp group every tp rank already has every row, so rows travel only between dp groups.
// Each token has one owner, a tp rank of its dp group: the owner sends it to the other groups and
// combines what comes back. `dispatch` returns a handle by value which `combine` consumes, so two
// chunks in flight cannot be mixed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "layers/runtime.h"

namespace dure {

// The rows that this rank's experts must compute, and what `combine` has to know to send them back.
struct Dispatched {
  const float* rows = nullptr;        // [inputs, hidden] that `source` indexes
  std::vector<int32_t> source;        // [work] input row of each work row; work is sorted by expert
  std::vector<int32_t> begin;         // [local experts + 1] first work row of each expert
  std::vector<int32_t> order;         // work rows in the order they go back: by rank, token, slot
                                      // (of a rank alone: by token and slot, -1 if dropped)
  std::vector<int64_t> send_rows;     // [stage ranks] how many of them to each
  std::vector<int64_t> receive_rows;  // [stage ranks]
  std::vector<int32_t> where;  // [owned tokens, top_k, etp] row of the received, -1 if dropped
  int64_t work() const { return static_cast<int64_t>(source.size()); }
};

class ExpertExchange {
 public:
  ExpertExchange(const Runtime& runtime, const MoeFfn& moe);

  Range experts() const { return experts_; }  // of this rank

  // x: [rows_of_dp[own], hidden]; ids: [the same rows, top_k] global expert numbers, equal on all
  // tp ranks of the group; slots that are dropped_slot go nowhere. rows_of_dp: token rows of every
  // dp group in this chunk, the same on all ranks.
  Dispatched dispatch(const Runtime& runtime, const float* x, const int32_t* ids,
                      std::span<const int64_t> rows_of_dp) const;

  // results: [work, hidden], in work order. out[rows, hidden] = sum over slots, in slot order, of
  // weight * (expert output + bias of the expert); on every tp rank. ids, weights: [rows, top_k].
  // bias: [experts, hidden], null: none.
  void combine(const Runtime& runtime, Dispatched dispatched, const float* results,
               const int32_t* ids, const float* weights, const float* bias,
               std::span<const int64_t> rows_of_dp, float* out) const;

 private:
  size_t stage_rank(int dp, int tp) const {
    return static_cast<size_t>(dp) * static_cast<size_t>(layout_.tp) + static_cast<size_t>(tp);
  }
  size_t holder(int32_t expert, int part) const {  // stage rank with this part of the expert
    return static_cast<size_t>(ep_of(expert)) * static_cast<size_t>(layout_.etp()) +
           static_cast<size_t>(part);
  }
  Range owned(int64_t rows, int tp) const { return cut_by_floor(rows, layout_.tp, tp); }
  // No rank's of a dropped slot.
  int ep_of(int32_t expert) const {
    return expert < 0 ? -1 : ep_of_expert_[static_cast<size_t>(expert)];
  }
  std::vector<int32_t> ids_of_all(const Runtime& runtime, const int32_t* ids,
                                  std::span<const int64_t> rows_of_dp) const;
  std::vector<int32_t> fetch_rows(const Runtime& runtime, const float* x,
                                  std::span<const int32_t> all_ids,
                                  std::span<const int64_t> rows_of_dp) const;
  bool wanted(std::span<const int32_t> token_ids, int ep) const;

  const Layout& layout_;
  const RankPlace& place_;
  int64_t top_k_;
  int64_t hidden_;
  Range experts_;  // of this rank
  std::vector<int> ep_of_expert_;
};

}  // namespace dure
