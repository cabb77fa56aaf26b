// Control messages between ranks, outside steps: any size, any time, in order from each sender, no
// deadline. MPI itself stays in the .cc.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "comm/communicator.h"
#include "comm/doorbell.h"

namespace dure {

class Mailbox {
 public:
  // On a communicator of its own; collective over the world, after MPI's start.
  Mailbox();
  ~Mailbox();
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  // From now on receivers are woken. Borrowed, connected to every rank.
  void use(Doorbell& bell);

  void post(int to, std::string message);  // to this rank itself, too
  std::optional<World::Mail> poll();
  bool sent() const;  // whether all posted messages are out; as of the last post or poll
  // Whether, besides, none has arrived in part: no other rank waits for this one's attention.
  bool quiet() const;
  // Rings for mail that was still on its way out when its receiver's bell rang last. poll does so,
  // too; waits for anything else must, at each look: their looks are what moves that mail.
  void ring_again();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dure
