// See group_communicator.h. An all-reduce gathers the ranks' partials and adds them in tree order:
// short ones whole on every rank (one exchange), long ones a slice per rank, which then hands its
// sums to the others (two exchanges, less traffic). Both add the same numbers in the same order.
#include "comm/group_communicator.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/error.h"
#include "comm/tree_sum.h"

namespace dure {
namespace {

// What a rank may receive of whole partials; from here on slices win, by bench/mpi/comm_bench.
constexpr size_t whole_limit_bytes = 64 * 1024;

// Where slice r begins; borders on whole cache lines.
size_t slice_begin(size_t count, size_t ranks, size_t r) {
  return r == ranks ? count : count * r / ranks / 16 * 16;
}

std::span<const std::byte> bytes_of(std::span<const float> data) {
  return std::as_bytes(data);
}

}  // namespace

GroupCommunicator::GroupCommunicator(Transport& transport, int channel, std::vector<int> ranks,
                                     int world_rank, const StepPlace& place)
    : transport_(transport), channel_(channel), ranks_(std::move(ranks)), place_(place) {
  const auto at = std::find(ranks_.begin(), ranks_.end(), world_rank);
  DURE_CHECK(at != ranks_.end());
  rank_ = static_cast<int>(at - ranks_.begin());
}

OpHeader GroupCommunicator::next_operation(OpKind kind, std::string_view what) {
  OpHeader header;
  header.kind = kind;
  header.step = place_.step;
  header.layer = static_cast<int16_t>(place_.layer);
  header.number = number_++;
  header.name(what);
  return header;
}

void GroupCommunicator::exchange(const OpHeader& header) {
  transport_.exchange(channel_, header, sends_, receives_);
  sends_.clear();
  receives_.clear();
}

void GroupCommunicator::reduce_whole(std::span<float> data, OpHeader header) {
  const auto me = static_cast<size_t>(rank_);
  scratch_.resize(data.size() * (ranks_.size() - 1));
  pieces_.resize(ranks_.size());
  float* next = scratch_.data();
  for (size_t r = 0; r < ranks_.size(); ++r) {
    if (r == me) {
      pieces_[r] = data.data();
      continue;
    }
    pieces_[r] = next;
    next += data.size();
    sends_.push_back({ranks_[r], bytes_of(data)});
    receives_.push_back({ranks_[r], std::as_writable_bytes(std::span(pieces_[r], data.size()))});
  }
  exchange(header);
  tree_sum(pieces_, data.size(), data.data());
}

void GroupCommunicator::reduce_slices(std::span<float> data, OpHeader header) {
  const auto me = static_cast<size_t>(rank_);
  const size_t n = ranks_.size();
  const auto slice = [&](size_t r) {
    const size_t begin = slice_begin(data.size(), n, r);
    return data.subspan(begin, slice_begin(data.size(), n, r + 1) - begin);
  };
  const std::span<float> mine = slice(me);
  scratch_.resize(mine.size() * (n - 1));
  pieces_.resize(n);
  float* next = scratch_.data();
  for (size_t r = 0; r < n; ++r) {
    if (r == me) {
      pieces_[r] = mine.data();
      continue;
    }
    pieces_[r] = next;
    next += mine.size();
    sends_.push_back({ranks_[r], bytes_of(slice(r))});
    receives_.push_back({ranks_[r], std::as_writable_bytes(std::span(pieces_[r], mine.size()))});
  }
  exchange(header);
  tree_sum(pieces_, mine.size(), mine.data());

  header.round = 1;
  for (size_t r = 0; r < n; ++r) {
    if (r == me) continue;
    sends_.push_back({ranks_[r], bytes_of(mine)});
    receives_.push_back({ranks_[r], std::as_writable_bytes(slice(r))});
  }
  exchange(header);
}

void GroupCommunicator::all_reduce_tree(std::span<float> data, std::string_view what) {
  if (ranks_.size() == 1) return;
  const OpHeader header = next_operation(OpKind::all_reduce, what);
  if (data.size_bytes() * (ranks_.size() - 1) <= whole_limit_bytes) {
    reduce_whole(data, header);
  } else {
    reduce_slices(data, header);
  }
}

void GroupCommunicator::all_gather(std::span<const std::byte> mine, std::span<const int64_t> sizes,
                                   std::span<std::byte> all, std::string_view what) {
  const auto me = static_cast<size_t>(rank_);
  DURE_CHECK(sizes.size() == ranks_.size());
  DURE_CHECK(static_cast<int64_t>(mine.size()) == sizes[me]);
  DURE_CHECK(std::accumulate(sizes.begin(), sizes.end(), int64_t{0}) ==
             static_cast<int64_t>(all.size()));
  const OpHeader header = next_operation(OpKind::all_gather, what);
  for (size_t r = 0; r < ranks_.size(); ++r) {
    const std::span<std::byte> piece = all.first(static_cast<size_t>(sizes[r]));
    all = all.subspan(piece.size());
    if (r == me) {
      if (!mine.empty()) std::memmove(piece.data(), mine.data(), mine.size());
      continue;
    }
    sends_.push_back({ranks_[r], mine});
    receives_.push_back({ranks_[r], piece});
  }
  exchange(header);
}

void GroupCommunicator::all_to_all(std::span<const std::byte> send,
                                   std::span<const int64_t> send_sizes,
                                   std::span<std::byte> receive,
                                   std::span<const int64_t> receive_sizes, std::string_view what) {
  const auto me = static_cast<size_t>(rank_);
  DURE_CHECK(send_sizes.size() == ranks_.size() && receive_sizes.size() == ranks_.size());
  DURE_CHECK(std::accumulate(send_sizes.begin(), send_sizes.end(), int64_t{0}) ==
             static_cast<int64_t>(send.size()));
  DURE_CHECK(std::accumulate(receive_sizes.begin(), receive_sizes.end(), int64_t{0}) ==
             static_cast<int64_t>(receive.size()));
  DURE_CHECK(send_sizes[me] == receive_sizes[me]);
  const OpHeader header = next_operation(OpKind::all_to_all, what);
  for (size_t r = 0; r < ranks_.size(); ++r) {
    const std::span<const std::byte> out = send.first(static_cast<size_t>(send_sizes[r]));
    const std::span<std::byte> in = receive.first(static_cast<size_t>(receive_sizes[r]));
    send = send.subspan(out.size());
    receive = receive.subspan(in.size());
    if (r == me) {
      if (!out.empty()) std::memcpy(in.data(), out.data(), out.size());
      continue;
    }
    sends_.push_back({ranks_[r], out});
    receives_.push_back({ranks_[r], in});
  }
  exchange(header);
}

}  // namespace dure
