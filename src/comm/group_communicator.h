// A Communicator over some of the world's ranks: each collective is one or two exchanges.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "comm/communicator.h"
#include "comm/transport.h"

namespace dure {

struct StepPlace {
  uint64_t step = 0;
  int layer = -1;  // of the model; -1: before or behind them
};

class GroupCommunicator final : public Communicator {
 public:
  // `ranks` are the members' world ranks, ascending, the same on every member. `place` is where
  // the world is. The transport and the place outlive this.
  GroupCommunicator(Transport& transport, int channel, std::vector<int> ranks, int world_rank,
                    const StepPlace& place);

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(ranks_.size()); }
  void all_reduce_tree(std::span<float> data, std::string_view what) override;
  void all_gather(std::span<const std::byte> mine, std::span<const int64_t> sizes,
                  std::span<std::byte> all, std::string_view what) override;
  void all_to_all(std::span<const std::byte> send, std::span<const int64_t> send_sizes,
                  std::span<std::byte> receive, std::span<const int64_t> receive_sizes,
                  std::string_view what) override;

  void begin_step() { number_ = 0; }

 private:
  OpHeader next_operation(OpKind kind, std::string_view what);
  void exchange(const OpHeader& header);
  void reduce_whole(std::span<float> data, OpHeader header);
  void reduce_slices(std::span<float> data, OpHeader header);

  Transport& transport_;
  int channel_;
  std::vector<int> ranks_;
  int rank_ = 0;
  const StepPlace& place_;
  uint64_t number_ = 0;
  // Kept between operations to keep their memory.
  std::vector<Transport::Send> sends_;
  std::vector<Transport::Receive> receives_;
  std::vector<float> scratch_;
  std::vector<float*> pieces_;
};

}  // namespace dure
