// What the front process and rank 0 of a group say to each other over a stream socket, and rank 0
// to the other ranks. Every message is a frame: u32 length, u8 kind, payload; integers
// little-endian. The sender checks nothing twice: decode() refuses any frame that is not exactly
// one message.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cluster/expert_capacity.h"
#include "cluster/layout.h"
#include "protocol/sampling.h"
#include "tensor/code_format.h"
#include "tensor/dtype.h"
#include "trace/step_clock.h"

namespace dure {

inline constexpr uint32_t max_frame_bytes = 1u << 30;  // kind and payload
// Travels in StartGroup: a front and ranks of different builds refuse each other at once. Count up
// whenever the fields of a message change.
inline constexpr uint32_t protocol_version = 8;

// Whether ranks tell what their time went into, span by span (RankSpans).
enum class Tracing : uint8_t { off = 0, on = 1 };

// Front -> ranks: what to load and how. First message on the socket.
struct StartGroup {
  std::string model;  // folder, the same path on every host
  Layout layout;
  Compute compute = Compute::bf16;
  CodeFormat quantize = CodeFormat::none;  // of matrices, while loading
  DType kv_dtype = DType::bf16;
  int32_t page_tokens = 16;
  int32_t pages = 0;             // of each dp group's cache
  int32_t context = 0;           // tokens of the longest sequence
  int32_t states = 0;            // sequences of each dp group at once: slots of what is kept of one
  int32_t max_batch_tokens = 0;  // of one step and dp group
  int32_t threads = 1;           // of each rank
  double deadline_s = 30.0;      // of every wait inside a step
  ExpertCapacity capacity;       // of experts, in a step
  Tracing tracing = Tracing::off;
};

// What a slice wants back besides advancing the cache.
enum class Want : uint8_t {
  nothing = 0,    // a prefill chunk that is not the prompt's last
  token = 1,      // one sampled token after the last position
  all_logits = 2  // raw fp32 logits of every position, and routes (dure verify)
};

// The pages of one table of the cache (schedule/page_class.h): those of positions
// [first * page_tokens, ...), from the first that the slice's queries see to its own last.
struct PageTable {
  int32_t first = 0;
  std::vector<int32_t> pages;
};

// A run of tokens of one sequence.
struct Slice {
  uint64_t sequence = 0;
  int32_t dp = 0;     // which dp group holds the sequence's pages
  int32_t start = 0;  // position of tokens[0]
  std::vector<int32_t> tokens;
  std::vector<PageTable> tables;
  int32_t length = 0;  // tokens of the sequence so far, those after this slice included
  // The sequence's slot, below StartGroup::states and no other's of its dp group while it runs: of
  // its recurrent state, where the model keeps one, and of its setup.
  int32_t state = 0;
  Want want = Want::nothing;
  // With the first slice after the sequence was given its slot: when it is admitted, when it comes
  // back after a preemption or a restart of the group, and when it is computed anew from position
  // 0. A slice of a slot that never had a setup draws greedily. Where needs_history(), the slices
  // of one setup follow each other without gap or overlap.
  std::optional<SequenceSetup> setup;
  // Where the setup asks for prompt_logprobs and the prompt goes on after this slice: its next
  // token, the one whose log-probability the slice's last position gives. Else -1.
  int32_t next_token = -1;
  // The tokens that may come next, such as a grammar allows: token t is bit t % 64 of word t / 64,
  // ceil(vocab / 64) words. Empty: all.
  std::vector<uint64_t> mask;
};

// One forward pass of the group. Steps are answered in the order sent; several may be in flight.
struct Step {
  uint64_t id = 0;
  std::vector<Slice> slices;
};

struct StopGroup {};

struct AskStats {};

// Rank 0 to a rank of another host: what does your clock say?
struct AskClock {};

using ToRanks = std::variant<StartGroup, Step, StopGroup, AskStats, AskClock>;

// Ranks -> front.

// Loading, at most a few times a second.
struct LoadProgress {
  int64_t bytes_done = 0;  // of all ranks
  int64_t bytes_total = 0;
};

struct RankReport {
  int32_t rank = 0;
  int32_t pid = 0;
  std::string host;
  std::string isa;           // "avx512-bf16"
  int64_t weight_bytes = 0;  // resident, padding included
  int64_t kv_bytes = 0;
  int64_t activation_bytes = 0;
  int64_t communication_bytes = 0;
  int64_t peak_rss_bytes = 0;  // while loading
  double load_s = 0.0;
  int64_t kept_bytes = 0;  // of the weights: taken over from the rank's life before, not read
  uint64_t weights_checksum = 0;  // xxh3 (keeper/checksum.h); 0: not asked for
};

struct GroupReady {
  std::vector<RankReport> ranks;
};

struct TracedSlice {  // for Want::all_logits
  int32_t vocab = 0;
  int32_t moe_layers = 0;
  int32_t top_k = 0;
  std::vector<float> logits;          // [tokens, vocab]
  std::vector<int32_t> expert_ids;    // [moe_layers, tokens, top_k], in slot order
  std::vector<float> expert_weights;  // the same shape
};

inline constexpr int32_t no_token_left = -2;

struct SliceResult {
  uint64_t sequence = 0;
  // Sampled, also for all_logits. -1 for Want::nothing, and where the logits are no distribution
  // (a NaN, say); no_token_left where the parameters and the mask leave none.
  int32_t token = -1;
  std::optional<TracedSlice> trace;
  std::optional<TokenLogprobs> logprobs;  // of the sampled token, where its setup asks for them
  // Where its setup asks for them: one for each position of the slice after which the prompt goes
  // on, of the prompt's token there. The prompt's first token has none; a position that is not
  // computed (a prefix hit) gives none.
  std::vector<TokenLogprobs> prompt_logprobs;
};

struct StepDone {
  uint64_t id = 0;
  double seconds = 0.0;             // from the step's arrival at rank 0
  std::vector<SliceResult> slices;  // in the step's order
};

// Why a group ended, in kinds that one can count.
enum class EndCause : uint8_t {
  failed = 0,       // an error that a rank, or the front, found
  killed,           // a signal ended a rank or mpirun
  stopped,          // a process was stopped (SIGSTOP) and not continued
  exited,           // a rank, or all of them, ended by themselves without a word
  out_of_memory,    // a rank was refused memory
  stalled,          // a wait for a peer, or for an answer, took too long
  lost_connection,  // to the ranks
};
inline constexpr size_t end_causes = 7;
std::string_view to_string(EndCause cause);  // "lost_connection"

// Where a rank was. What is not known is -1 or empty.
struct RankWhere {
  int64_t step = -1;
  int32_t layer = -1;
  std::string operation = {};  // "all-reduce of attention output"
};

// The group cannot go on; it ends after this.
struct GroupFailed {
  int32_t rank = -1;
  uint8_t code = 0;  // ErrorCode
  std::string message = {};
  std::string hint = {};
  EndCause cause = EndCause::failed;
  int32_t pid = -1;
  std::string host = {};
  RankWhere where = {};
};

// What ranks have measured since they were loaded; each tells its own and rank 0 puts them
// together.
struct OpTotals {
  std::string op;          // "all_reduce"
  int64_t sent_bytes = 0;  // to all peers
  double wait_s = 0.0;     // from having sent its own part to having everybody's
};

struct PartSeconds {
  std::string part;  // of a step's work (trace/step_clock.h): "attention"
  double seconds = 0.0;
};

struct ExpertLoad {
  int32_t layer = 0;
  int32_t first = 0;  // expert that tokens[0] is of
  std::vector<int64_t>
      tokens;  // token slots that each expert held here, or its part here, computed
};

struct RankStats {
  int32_t rank = 0;
  std::vector<OpTotals> ops;
  std::vector<PartSeconds> parts;
  std::vector<ExpertLoad> experts;  // of each MoE layer of its stage
};

struct GroupStats {
  std::vector<RankStats> ranks;
  // Token slots that found their expert full (StartGroup::capacity), of all layers.
  int64_t dropped_slots = 0;
  int64_t moved_slots = 0;  // to the token's next best expert
};

// What a rank's time went into since it last told; where the group is traced.
struct RankSpans {
  int32_t rank = 0;
  int64_t lost = 0;                // spans that found no room, since the start
  std::vector<std::string> names;  // of the spans
  std::vector<Span> spans;         // begin_ns is of rank 0's clock
};

// A rank's clock: what it says in answer to AskClock, and, from rank 0 to the front, what was made
// of that, once for each rank of another host.
struct ClockTold {
  int32_t rank = 0;
  int64_t ns = 0;         // of CLOCK_MONOTONIC; or to add to the rank's clock to get rank 0's
  int64_t within_ns = 0;  // how wrong that may be
};

using FromRanks =
    std::variant<LoadProgress, GroupReady, StepDone, GroupFailed, GroupStats, RankSpans, ClockTold>;

std::string encode(const ToRanks& message);  // with frame header
std::string encode(const FromRanks& message);

// `frame` is one whole frame without its length. Throws `failed` naming the field where it is cut
// short or too long, or the value that no sender writes. Never throws anything else, and allocates
// no more than a small multiple of the frame's own size.
ToRanks decode_to_ranks(std::span<const std::byte> frame);
FromRanks decode_from_ranks(std::span<const std::byte> frame);

}  // namespace dure
