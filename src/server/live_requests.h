// The generations that are not finished: turns the scheduler's token events into text for their
// sinks. Used by the engine's thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <unordered_map>

#include "schedule/scheduler.h"
#include "server/generation.h"
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
  explicit LiveRequests(std::shared_ptr<const Tokenizer> tokenizer);

  void add(uint64_t id, const Generation& generation);
  // For the first slice of the sequence in its slot, which starts at position 0.
  SequenceSetup setup(uint64_t id) const;
  bool contains(uint64_t id) const { return live_.contains(id); }
  size_t size() const { return live_.size(); }

  // True when that token ended the request; the scheduler may not know yet (a stop string).
  bool apply(const TokenEvent& event);
  bool cancel(uint64_t id);  // false if it is not live
  void fail(uint64_t id, const Error& error);
  void fail_all(const Error& error);

  const RequestCounts& counts() const { return counts_; }

 private:
  struct Live {
    std::shared_ptr<GenerationSink> sink;
    TextPipeline text;
    SamplingParams sampling;
    int32_t prompt_tokens = 0;
    int32_t completion_tokens = 0;
  };

  std::shared_ptr<const Tokenizer> tokenizer_;
  std::unordered_map<uint64_t, Live> live_;
  RequestCounts counts_;
};

}  // namespace dure
