// Bytes between ranks inside steps: non-blocking MPI messages, each with its OpHeader, each wait
// bounded. Collectives (group_communicator.h) are built on `exchange` alone. Ranks are those of the
// world. MPI itself stays in the .cc.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>

#include "comm/communicator.h"
#include "comm/operation.h"

namespace dure {

class Transport {
 public:
  struct Send {
    int to = 0;
    std::span<const std::byte> data;
  };
  struct Receive {
    int from = 0;
    std::span<std::byte> data;
  };

  // On a communicator of its own; collective over the world, after MPI's start.
  Transport();
  ~Transport();
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  int ranks_here() const;  // of the world, on this host

  void set_deadline(std::chrono::duration<double> deadline);
  // Called when an exchange begins to wait (true) and when it has ended (false); the header's bytes
  // are those of all its sends.
  void around_each_wait(std::function<void(const OpHeader&, bool begins)> call);
  // Called after every look while waiting.
  void after_each_look(std::function<void()> call);

  // Carries out all the sends and receives, none to itself, at most one each per peer. `channel`
  // keeps groups apart: between two ranks messages of one channel arrive in order. The header's
  // bytes are filled in from the data. Throws failed naming rank, step and operation when a peer is
  // at another operation, or silent past the deadline. After that the group can only end, and
  // memory given to the failed call must stay: MPI may still read or write it.
  void exchange(int channel, OpHeader header, std::span<const Send> sends,
                std::span<const Receive> receives);

  // Returns at once; the data is copied.
  void send_copy(int channel, OpHeader header, const Send& send);

  // Whether everything sent is out.
  bool sent();
  // Waits until it is; false past the deadline.
  bool flush();

  const CommCounters& counters() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dure
