// The generations that are not finished: what the ranks must be told of them, and their tokens
// turned into text for their sinks. This is also the journal that a restart of the ranks is
// replayed from: nothing of a request is kept at the ranks only. Used by the engine's thread only.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "schedule/scheduler.h"
#include "server/generation.h"
#include "server/request_histograms.h"
#include "server/text_pipeline.h"

namespace dure {

struct RequestCounts {
  int64_t prompt_tokens = 0;  // of requests that produced a token
  int64_t generation_tokens = 0;
  int64_t finished_stop = 0;
  int64_t finished_length = 0;
  int64_t cancelled = 0;
  int64_t failed = 0;
};

class LiveRequests {
 public:
  // `taken` counts those that were submitted and have not ended: each leaves it before its client
  // hears of the end, so that whoever waits for an answer finds a place for the next request.
  LiveRequests(std::shared_ptr<const Tokenizer> tokenizer, std::atomic<int>* taken);

  void add(uint64_t id, Generation generation, SteadyTime now);
  void started(uint64_t id, SteadyTime now);  // its first step, or its first again
  const std::string& request_of(uint64_t id) const { return live_.at(id).generation.request; }
  bool contains(uint64_t id) const { return live_.contains(id); }
  size_t size() const { return live_.size(); }

  // For the first slice of the sequence in its slot; `tokens` are its own so far, `start` of them
  // before the slice.
  SequenceSetup setup(uint64_t id, std::span<const int32_t> tokens, int32_t start) const;
  // What its next token may be: as set last, all before that.
  const std::vector<uint64_t>& mask(uint64_t id) const { return live_.at(id).mask; }
  void set_mask(uint64_t id, std::vector<uint64_t> mask) { live_.at(id).mask = std::move(mask); }
  // What its masks come from; null: nothing restricts it.
  const std::shared_ptr<TokenConstraint>& constraint(uint64_t id) const {
    return live_.at(id).generation.constraint;
  }
  // The prompt's token at that position if its log-probability is wanted there, else -1.
  int32_t next_prompt_token(uint64_t id, std::span<const int32_t> tokens, int32_t position) const;

  // In the order of positions; what a replay says again is left out.
  void add_prompt_logprobs(uint64_t id, int32_t start, std::vector<TokenLogprobs> logprobs);
  // True when that token ended the request; the scheduler may not know yet (a stop string).
  bool apply(const TokenEvent& event, std::optional<TokenLogprobs> logprobs, SteadyTime now);

  // The ranks died while they worked on it. Returns how often that was so since its last token.
  int died_with(uint64_t id) { return ++live_.at(id).deaths; }

  bool cancel(uint64_t id);  // false if it is not live
  void fail(uint64_t id, const Error& error);
  void fail_all(const Error& error);

  const RequestCounts& counts() const { return counts_; }
  RequestHistograms& histograms() { return histograms_; }

 private:
  struct Live {
    Live(std::shared_ptr<const Tokenizer> tokenizer, Generation made);
    Generation generation;
    TextPipeline text;
    std::vector<uint64_t> mask;  // of the next token
    int32_t prompt_tokens = 0;
    int32_t completion_tokens = 0;
    RequestTimes times;
    int deaths = 0;
    std::vector<TokenLogprobs> prompt_logprobs;
    std::vector<TokenLogprobs> untold;  // of tokens whose text is held back
  };

  static GenerationEnd end_of(const Live& live, const TokenEvent& event);

  std::shared_ptr<const Tokenizer> tokenizer_;
  std::atomic<int>* taken_;
  std::unordered_map<uint64_t, Live> live_;
  RequestCounts counts_;
  RequestHistograms histograms_;
};

}  // namespace dure
