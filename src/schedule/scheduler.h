// Which tokens of which sequences go into the next step: continuous batching (Orca, OSDI 2022) with
// chunked prefill (Sarathi, arXiv:2308.16369) over paged KV caches. Pure logic: no clock, sockets,
// threads or tensors, so that the server and the simulator run the same policy. Not thread-safe.
//
// The rules:
// - First come, first admitted. A sequence is admitted when a dp group can hold its prompt and all
//   tokens it may produce, so an admitted sequence always ends. The group with the most free pages
//   takes it, which balances the tokens in flight.
// - A step gives every dp group max_batch_tokens tokens: decoding sequences first (one each, the
//   one that waited longest first), then prompts in order of arrival, the last one in part.
// - With several steps in flight (pipeline stages) a sequence is in one of them at most, and a step
//   takes no more than its share of the running sequences, so that no stage runs dry.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "schedule/page_manager.h"

namespace dure {

struct ScheduleOptions {
  int32_t dp = 1;
  int32_t page_tokens = 16;
  int32_t pages = 0;  // of each dp group
  int32_t max_batch_tokens = 512;
  int32_t max_running = 256;    // sequences of each dp group
  int32_t steps_in_flight = 1;  // pipeline stages
  // A sequence that grows beyond this many tokens is computed anew from its first: for models whose
  // rotation changes there. 0: none does.
  int32_t recompute_beyond = 0;
};

struct SequenceRequest {
  uint64_t id = 0;  // never used before
  std::vector<int32_t> prompt;
  int32_t max_tokens = 1;
  std::vector<int32_t> stop_ids;  // producing one of these ends the sequence
};

// A run of tokens of one sequence in a step.
struct PlannedSlice {
  uint64_t sequence = 0;
  int32_t dp = 0;
  int32_t start = 0;   // position of tokens[0]
  int32_t length = 0;  // tokens of the sequence so far, those after this slice included
  std::vector<int32_t> tokens;
  std::vector<int32_t> pages;  // of positions [0, start + tokens.size())
  int32_t state = 0;           // slot of its recurrent state, below max_running
  bool wants_token = false;    // false: a prompt chunk that is not the last
};

struct StepPlan {
  uint64_t id = 0;
  std::vector<PlannedSlice> slices;  // by dp group
};

enum class Finish { none, stop, length };

struct TokenEvent {
  uint64_t sequence = 0;
  int32_t token = 0;
  Finish finish = Finish::none;  // stop: the token is one of the stop ids
};

class Scheduler {
 public:
  // Throws bad_input for sizes below 1.
  explicit Scheduler(const ScheduleOptions& options);

  // Throws bad_input for an empty prompt, max_tokens below 1, or a sequence that could never be
  // held, naming both numbers.
  void submit(SequenceRequest request);

  // Forgets a sequence, known or not: no event of it comes after this. Pages that a step in flight
  // still writes are kept until that step is done.
  void cancel(uint64_t sequence);

  // Nothing when there is nothing to do or steps_in_flight steps are out.
  std::optional<StepPlan> next_step();

  // The oldest step in flight is done; `tokens` has one entry for each of its slices (ignored where
  // no token was wanted). Finished sequences are forgotten. Throws `failed` when the answer is not
  // one to that step.
  std::vector<TokenEvent> complete(uint64_t step, std::span<const int32_t> tokens);

  // Tokens (prompt + produced) that the longest possible sequence may have.
  int64_t longest_sequence() const;

  int64_t waiting() const { return static_cast<int64_t>(waiting_.size()); }
  int64_t running() const;  // admitted, and not cancelled
  int64_t steps_out() const { return static_cast<int64_t>(steps_.size()); }
  int64_t held_pages() const;
  const ScheduleOptions& options() const { return options_; }

 private:
  struct Sequence {
    uint64_t arrival = 0;
    int32_t dp = 0;
    std::vector<int32_t> tokens;  // prompt, then what was produced
    int32_t prompt_tokens = 0;
    int32_t max_tokens = 0;
    std::vector<int32_t> stop_ids;
    std::vector<int32_t> pages;  // all it will ever need
    std::vector<int32_t> state;  // one slot
    int32_t cached = 0;          // tokens whose keys and values are in the pages
    bool in_flight = false;
    bool cancelled = false;
  };

  struct Group {  // one dp group
    Group(int32_t pages, int32_t states) : pages(pages), states(states) {}
    PageManager pages;
    PageManager states;
    int32_t running = 0;
    std::deque<uint64_t> decoding;         // ready for a step, the longest waiting first
    std::map<uint64_t, uint64_t> filling;  // ready for a step: arrival -> id
  };

  struct StepOut {
    uint64_t id = 0;
    std::vector<uint64_t> sequences;
  };

  int64_t pages_needed(int64_t prompt_tokens, int64_t max_tokens) const;
  void admit();
  void plan_group(int32_t dp, StepPlan& plan);
  void add_slice(uint64_t id, int32_t count, StepPlan& plan);
  Finish append(Sequence& sequence, int32_t token);
  void make_ready(uint64_t id, const Sequence& sequence);
  void forget(uint64_t id);

  ScheduleOptions options_;
  std::vector<Group> groups_;  // [dp]
  std::unordered_map<uint64_t, Sequence> sequences_;
  std::map<uint64_t, uint64_t> waiting_;  // arrival -> id
  std::deque<StepOut> steps_;             // in flight, oldest first
  uint64_t next_arrival_ = 0;
  uint64_t next_step_ = 0;
};

}  // namespace dure
