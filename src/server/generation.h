// One sequence to be produced: what the engine needs of a request, and where its text goes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "protocol/messages.h"

namespace dure {

struct GenerationEnd {
  bool stopped = false;  // by a stop id or string; else max_tokens was reached
  // Which, of the request's own: neither where the model ended by itself.
  std::optional<int32_t> stop_id;
  std::string stop_string;
  int32_t prompt_tokens = 0;
  int32_t reused_tokens = 0;      // of the prompt, found in the cache
  int32_t completion_tokens = 0;  // the stop id included, as every API of this kind counts
};

// Text that may be shown, and the tokens it came with where log-probabilities were asked for. A
// token comes with the text that it completes, or earlier; either may be empty, not both.
struct TextPiece {
  std::string_view text;  // whole characters
  std::span<const TokenLogprobs> tokens;
};

// Called on the engine's thread: must not block. Perhaps on_prompt(), any number of on_text(), then
// one of the others; after a cancellation nothing.
class GenerationSink {
 public:
  virtual ~GenerationSink() = default;
  // Where prompt_logprobs were asked for: of all prompt tokens but the first, in order.
  virtual void on_prompt(std::span<const TokenLogprobs>) {}
  virtual void on_text(const TextPiece& piece) = 0;
  virtual void on_end(const GenerationEnd& end) = 0;
  virtual void on_error(const Error& error) = 0;
};

// What restricts the next token, such as a grammar. Used by one thread at a time: the engine's as
// long as that takes no more than `work`, else one of MaskWorkers.
class TokenConstraint {
 public:
  virtual ~TokenConstraint() = default;
  // Only remembers it: what that means is part of the next mask's work.
  virtual void accept(int32_t token) = 0;
  // As Slice::mask; empty: all.
  virtual std::vector<uint64_t> mask() = 0;
  // The same if so much work suffices (a unit is some 10 ns), which is counted down; else nothing.
  virtual std::optional<std::vector<uint64_t>> mask_within(uint64_t& work) = 0;
  // What is one and the same for all that are held to this grammar.
  virtual std::shared_ptr<const void> grammar() const = 0;
};

struct Generation {
  std::vector<int32_t> prompt;
  int32_t max_tokens = 1;
  SamplingParams sampling;
  std::vector<int32_t> stop_ids;          // the client's
  std::vector<int32_t> end_ids;           // of the model's own end; none if that is to be ignored
  std::vector<std::string> stop_strings;  // none empty
  bool skip_special = true;               // special tokens are not shown
  bool show_stop_string = false;
  int32_t priority = 0;    // lower goes first
  std::string request;     // the id of the request that it belongs to, for the log
  std::string tenant;      // who shares the tokens served
  std::string cache_salt;  // only requests with the same one share cached prefixes
  std::shared_ptr<TokenConstraint> constraint;
  std::shared_ptr<GenerationSink> sink;
  std::shared_ptr<const void> room;  // among what the engine holds, given back with the last owner
};

}  // namespace dure
