// What ranks say to each other, over MPI. Every message carries the step and operation it belongs
// to; a peer that is at another one, or that stays silent past the deadline, is an error naming
// rank, step and operation. Waiting ranks sleep: a wait spins briefly, then yields, then naps.
//
// After a collective, send or receive threw, the group can only end: post, the mail calls and abort
// still work, the rest throws. Memory given to the failed call must stay until the process ends.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "cluster/layout.h"
#include "comm/operation.h"
#include "protocol/messages.h"
#include "trace/step_clock.h"

namespace dure {

// A peer was silent past the deadline.
class Stalled : public Error {
 public:
  using Error::Error;
};

// Of one kind of operation, since the start.
struct OpCounters {
  int64_t sent_bytes = 0;  // to all peers
  double wait_s = 0.0;     // from having sent its own part to having everybody's
};
using CommCounters = std::array<OpCounters, op_kinds>;  // by OpKind, the first at 0

// A fixed set of ranks, all of which take part in each collective, in the same order. One thread.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;  // within the group
  virtual int size() const = 0;

  // data becomes the sum over ranks, added as a binary tree over rank order: with 4 ranks
  // (0 + 1) + (2 + 3), with 5 ((0 + 1) + (2 + 3)) + 4. Every rank gets the same bits; a sum that is
  // not a number is always the same quiet NaN. `what` names the operation in errors (32 bytes).
  virtual void all_reduce_tree(std::span<float> data, std::string_view what) = 0;

  // all = the ranks' pieces one after another; sizes[r] bytes each (known to all), mine.size() ==
  // sizes[rank()].
  virtual void all_gather(std::span<const std::byte> mine, std::span<const int64_t> sizes,
                          std::span<std::byte> all, std::string_view what) = 0;

  // Piece r of `send` (send_sizes[r] bytes, one after another) goes to rank r; `receive` gets
  // theirs. Both sides know the sizes; zero bytes are allowed and still checked.
  virtual void all_to_all(std::span<const std::byte> send, std::span<const int64_t> send_sizes,
                          std::span<std::byte> receive, std::span<const int64_t> receive_sizes,
                          std::string_view what) = 0;
};

// This process among all ranks of the group.
class World {
 public:
  // Starts MPI. One per process.
  static std::unique_ptr<World> start();
  virtual ~World() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Splits the world; call once, on every rank. Throws bad_input unless the layout has size()
  // ranks.
  virtual void set_layout(const Layout& layout, std::chrono::duration<double> deadline) = 0;
  virtual Communicator& tp() = 0;     // same stage and dp
  virtual Communicator& stage() = 0;  // same stage: all tp * dp ranks, in (dp, tp) order

  // Collectives and stage transfers after this belong to step `id`, and to no layer yet.
  virtual void begin_step(uint64_t id) = 0;
  // To this layer of the model; -1: before or behind them.
  virtual void begin_layer(int layer) = 0;
  // This rank rests until the next step.
  virtual void end_step() = 0;

  // From now on the page in `folder`, the group's own, tells where this rank is
  // (protocol/rank_places.h), should it die or be stopped; nothing where the folder is on another
  // host.
  virtual void show_place_in(const std::filesystem::path& folder) = 0;

  // Point to point between pipeline stages; send returns at once (the data is copied), receive
  // waits for exactly data.size() bytes.
  virtual void send(int to, std::span<const std::byte> data, std::string_view what) = 0;
  virtual void receive(int from, std::span<std::byte> data, std::string_view what) = 0;

  // Control messages outside steps (commands, results, errors): no deadline, any size. A message
  // from one rank arrives in the order sent. May be mixed with waiting on a file descriptor by the
  // caller.
  virtual void post(int to, std::string message) = 0;
  struct Mail {
    int from = 0;
    std::string message;
  };
  virtual std::optional<Mail> poll_mail() = 0;
  // Lets ranks that wait for mail sleep until it comes, if all ranks are on this host and can make
  // sockets in `folder`, which is the group's own; returns whether. Call once, on every rank. As a
  // precaution against transports that need a rank's attention without mail, a sleep ends after
  // `longest_sleep`.
  virtual bool use_doorbells(
      const std::filesystem::path& folder,
      std::chrono::duration<double> longest_sleep = std::chrono::milliseconds(250)) = 0;
  // Waits for mail, or until `descriptor` (if >= 0) is readable, or until the timeout. With
  // doorbells it soon sleeps until woken; without, or while messages are under way, it naps, at
  // last for 4 ms at a time: give it seconds, for each call starts with short naps.
  virtual std::optional<Mail> wait_mail(int descriptor, std::chrono::duration<double> timeout) = 0;

  // Where this rank is, as the page of show_place_in has it: " at step 7, …"; or empty.
  virtual std::string place() const = 0;
  // The same for programs.
  virtual RankWhere where() const = 0;

  virtual CommCounters counters() const = 0;
  // What this rank's time goes into. begin_step, begin_layer and end_step tell it, and so does
  // every exchange; the rest is for whoever computes.
  virtual StepClock& clock() = 0;

  // Ends every rank of the group, now.
  [[noreturn]] virtual void abort(int exit_code) = 0;
  // Orderly end, after all posted messages went out; every rank calls it, and waits for the others
  // without a deadline. No call after it but the destructor.
  virtual void finish() = 0;
};

}  // namespace dure
