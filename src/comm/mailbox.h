// Control messages between ranks, outside steps: any size, any time, in order from each sender, no
// deadline. MPI itself stays in the .cc.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "comm/communicator.h"

namespace dure {

class Mailbox {
 public:
  // On a communicator of its own; collective over the world, after MPI's start.
  Mailbox();
  ~Mailbox();
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  void post(int to, std::string message);  // to this rank itself, too
  std::optional<World::Mail> poll();
  bool sent() const;  // whether all posted messages are out; as of the last post or poll

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dure
