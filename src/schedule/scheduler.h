// Which tokens of which sequences go into the next step: continuous batching (Orca, OSDI 2022) with
// chunked prefill (Sarathi, arXiv:2308.16369) over paged KV caches (vLLM, arXiv:2309.06180) whose
// whole pages are shared by sequences that begin alike. Pure logic: no clock, sockets, threads or
// tensors, so that the server and the simulator run the same policy. Not thread-safe.
//
// The rules:
// - Who waits is admitted by class of priority, then by tenant (who was served fewer tokens goes
//   first, fair_share.h), then by arrival. A class counts as one better for every `aging_tokens`
//   that others were served meanwhile, so nobody waits for ever. The first in this order that does
//   not fit stops the admission: a small sequence never overtakes a large one for its size.
// - A sequence takes pages for the tokens it has and more as it grows; where layers see only a
//   window, for the window and a step's tokens, and it gives back what no query sees any more. It
//   goes to the dp group that has then the fewest tokens in flight, not counting those it finds in
//   that group's cache. If what it could share is being computed there, it waits until that is
//   done.
// - Where pages run out, the sequence last in order (worse class, later arrival) gives up its own;
//   its place is kept, and it is computed anew when there is room, but for what is still cached.
// - A step gives every dp group max_batch_tokens tokens: decoding sequences first (one each, the
//   one that waited longest first), then prompts by class and tenant as in admission, of a tenant's
//   prompts the one that would be done first if they shared alike (fair_finish.h). Prompts take no
//   more than keeps the step's time near that of decoding alone (step_pace.h).
// - A sequence that is held (hold()) lets others go first, and stops no admission.
// - With several steps in flight (pipeline stages) a step takes no more than its share of the
//   running sequences, so that no stage runs dry; chunks of one prompt may follow each other.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "schedule/fair_finish.h"
#include "schedule/fair_share.h"
#include "schedule/page_cache.h"
#include "schedule/slot_pool.h"
#include "schedule/step_pace.h"

namespace dure {

struct ScheduleOptions {
  int32_t dp = 1;
  int32_t page_tokens = 16;
  int32_t pages = 0;  // of each dp group
  std::vector<PageClass> page_classes = {
      PageClass{}};  // of the model; the one that sees furthest first
  int32_t max_batch_tokens = 512;
  int32_t max_running = 256;    // sequences of each dp group
  int32_t steps_in_flight = 1;  // pipeline stages
  // A sequence that grows beyond this many tokens is computed anew from its first: for models whose
  // rotation changes there. 0: none does.
  int32_t recompute_beyond = 0;
  // False for models whose layers keep a running state: pages alone do not bring a prefix back.
  bool share_prefixes = true;
  double stretch = 1.8;  // of a step by prompts (step_pace.h); 1 or less: any
  // Served to others while a class waits; below 1: classes never get better.
  int64_t aging_tokens = 65'536;
};

struct SequenceRequest {
  uint64_t id = 0;  // never used before
  std::vector<int32_t> prompt;
  int32_t max_tokens = 1;
  std::vector<int32_t> stop_ids;  // producing one of these ends the sequence
  int32_t priority = 0;           // its class: lower goes first
  std::string tenant;
  std::string cache_salt;     // only sequences with the same one share pages
  bool whole_prompt = false;  // all of it is to be computed, whatever is known
};

// The pages of one table: those of the blocks from `first` on that the slice's queries see, its own
// tokens' included.
struct PlannedTable {
  int32_t first = 0;
  std::vector<int32_t> pages;
};

// A run of tokens of one sequence in a step.
struct PlannedSlice {
  uint64_t sequence = 0;
  int32_t dp = 0;
  int32_t start = 0;   // position of tokens[0]
  int32_t length = 0;  // tokens of the sequence so far, those after this slice included
  std::vector<int32_t> tokens;
  std::vector<PlannedTable> tables;  // of each class in turn, as many as it has
  int32_t state = 0;                 // slot of its states, below max_running
  bool enters = false;               // its first slice since that slot became its own
  bool wants_token = false;          // false: a prompt chunk that is not the last
};

struct StepPlan {
  uint64_t id = 0;
  std::vector<PlannedSlice> slices;
};

enum class Finish { none, stop, length };

struct TokenEvent {
  uint64_t sequence = 0;
  int32_t token = 0;
  Finish finish = Finish::none;  // stop: the token is one of the stop ids
  size_t slice = 0;              // of the step
  int32_t reused = 0;            // tokens found in the cache when the sequence was first admitted
};

struct ScheduleCounts {
  int64_t preemptions = 0;
  int64_t prefix_queries = 0;  // tokens of admitted sequences
  int64_t prefix_hits = 0;     // of them, found in the cache
  int64_t held_pages = 0;      // of all dp groups: in use
  int64_t idle_pages = 0;      // known and in nobody's use
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
  // no token was wanted). `seconds`: that it took, from the end of the step before or from its own
  // start, whichever was later; 0: not known. Finished sequences are forgotten. Throws `failed`
  // when the answer is not one to that step.
  std::vector<TokenEvent> complete(uint64_t step, std::span<const int32_t> tokens,
                                   double seconds = 0.0);

  // The ranks died, and with them the steps in flight and every page. All sequences wait again, in
  // their old places, with the tokens they have produced. Returns how many tokens must be computed
  // anew.
  int64_t lose_ranks();

  // Until its next token, that sequence is alone in its steps: to see whether it is the one that
  // ranks die of.
  void isolate(uint64_t sequence);

  // Until it is released, no step begins that has the sequence in it: what its next token may be is
  // not known yet. It keeps its place and its pages, as long as nobody before it needs them, and
  // takes no new ones. Both: known or not.
  void hold(uint64_t sequence);
  void release(uint64_t sequence);

  // Prompt and what was produced so far. `sequence` must be live.
  std::span<const int32_t> tokens(uint64_t sequence) const;

  // Tokens (prompt + produced) that the longest possible sequence may have.
  int64_t longest_sequence() const;

  int64_t waiting() const { return waiting_; }
  int64_t running() const;  // admitted, and not cancelled
  int64_t steps_out() const { return static_cast<int64_t>(steps_.size()); }
  ScheduleCounts counts() const;
  const ScheduleOptions& options() const { return options_; }

 private:
  // Sequences of one class and tenant, by arrival.
  using Line = std::map<uint64_t, uint64_t>;  // arrival -> id
  using Lines = std::map<std::pair<int32_t, std::string>, Line>;
  // Of the running sequences of a group; the last of them gives up its pages first.
  using Place = std::pair<int64_t, uint64_t>;  // rank, arrival
  using Order = std::set<std::pair<Place, uint64_t>>;

  struct Sequence {
    uint64_t arrival = 0;
    std::vector<int32_t> tokens;  // prompt, then what was produced
    int32_t prompt_tokens = 0;
    int32_t max_tokens = 0;
    std::vector<int32_t> stop_ids;
    std::pair<int32_t, std::string> line;  // class and tenant
    FairShare::Tenant* tenant = nullptr;
    std::string cache_salt;
    bool whole_prompt = false;
    PageKeys keys;
    int32_t charged = 0;      // tokens of it that its tenant has paid for
    int64_t served_then = 0;  // to all, when it was submitted
    std::optional<int32_t> reused;
    bool preempted = false;
    bool held = false;

    // Of running ones.
    bool running = false;
    int64_t rank = 0;  // the class it was admitted as
    int32_t dp = 0;
    int32_t state = 0;
    std::vector<BlockRun> runs;  // of each class
    int32_t cached = 0;          // tokens whose keys and values are, or were, in the pages
    // Blocks made known, the place of the last, and up to which block others wait for.
    int32_t published = 0;
    PageCache::Node node = PageCache::root;
    int32_t promised = 0;
    bool entered = false;
    double place = 0.0;     // among prompts of its line
    int32_t in_flight = 0;  // steps
    bool cancelled = false;
  };

  // Prompts of one class and tenant that are being computed.
  struct PromptLine {
    std::set<std::tuple<double, uint64_t, uint64_t>> order;  // place, arrival, id
    FairFinish shares;
  };
  using Prompts = std::map<std::pair<int32_t, std::string>, PromptLine>;

  struct Group {  // one dp group
    Group(const ScheduleOptions& options)
        : pages(options.pages, options.page_tokens, options.page_classes),
          states(options.max_running) {}
    PageCache pages;
    SlotPool states;
    Order order;
    int64_t tokens = 0;             // of its running sequences
    std::deque<uint64_t> decoding;  // ready for a step, the longest waiting first
    Prompts filling;                // ready for a step
    // Hashes of blocks that running sequences are going to compute, and by how many.
    std::unordered_map<uint64_t, int32_t> promised;
  };

  struct StepOut {
    uint64_t id = 0;
    std::vector<std::pair<uint64_t, bool>> slices;  // sequence, and whether it wants a token
    PacedStep content;
  };

  // What a group can do for a sequence that waits.
  struct Offer {
    int32_t dp = 0;
    PageCache::Prefix prefix;
    int32_t promised = 0;  // blocks after the prefix
    int64_t load = 0;      // tokens in flight with it
    int64_t pages = 0;     // to be allocated
    bool fits = false;
  };

  // scheduler_admit.cc
  void admit();
  Offer best_offer(Sequence& sequence);
  Offer offer_of(int32_t dp, const Sequence& sequence) const;
  int64_t reserve(size_t running) const;
  int64_t entry_blocks(size_t of_class, int64_t first, int64_t tokens) const;
  bool make_room(const Sequence& sequence, int64_t rank, Offer& offer);
  void enter(uint64_t id, Sequence& sequence, Offer offer, int64_t rank);
  int64_t effective_class(const Sequence& sequence) const;

  // scheduler_plan.cc
  std::optional<uint64_t> running_alone();
  void plan_alone(uint64_t id, StepPlan& plan);
  void plan_groups(StepPlan& plan, StepOut& out);
  void plan_decodes(Group& group, int32_t sequences, StepPlan& plan, PacedStep& content);
  void plan_prompts(Group& group, PromptRoom room, int32_t sequences, StepPlan& plan,
                    PacedStep& content);
  std::optional<uint64_t> next_filling(const Group& group, const std::set<uint64_t>& passed) const;
  bool add_slice(uint64_t id, int32_t count, StepPlan& plan);
  bool grow(Sequence& sequence, int64_t tokens);
  void give_back_unseen(Sequence& sequence);
  std::vector<PlannedTable> tables_of(const Sequence& sequence, int64_t tokens);
  void charge(Sequence& sequence, int32_t start);
  void publish_pages(Sequence& sequence);
  static void keep_promise(Group& group, uint64_t hash);
  void break_promises(Sequence& sequence);

  // scheduler.cc
  static Place place_of(const Sequence& sequence) { return {sequence.rank, sequence.arrival}; }
  Group& group_of(const Sequence& sequence) { return groups_[static_cast<size_t>(sequence.dp)]; }
  int64_t blocks_for(int64_t tokens) const;
  void wait(uint64_t id, Sequence& sequence);
  Finish append(Sequence& sequence, int32_t token);
  void go_on(uint64_t id, Sequence& sequence, Finish finish);
  void make_ready(uint64_t id, Sequence& sequence);
  void make_unready(uint64_t id, const Sequence& sequence);
  void leave(uint64_t id, Sequence& sequence);
  void preempt(uint64_t id);
  void forget(uint64_t id);

  ScheduleOptions options_;
  std::vector<Group> groups_;  // [dp]
  std::unordered_map<uint64_t, Sequence> sequences_;
  FairShare shares_;
  Lines lines_;  // who waits
  int64_t waiting_ = 0;
  int64_t cancelled_ = 0;      // in flight
  std::deque<StepOut> steps_;  // in flight, oldest first
  std::deque<uint64_t> alone_;
  StepPace pace_;
  int64_t served_ = 0;  // tokens, to all
  int64_t preemptions_ = 0;
  int64_t prefix_queries_ = 0;
  int64_t prefix_hits_ = 0;
  uint64_t next_arrival_ = 0;
  uint64_t next_step_ = 0;
};

}  // namespace dure
