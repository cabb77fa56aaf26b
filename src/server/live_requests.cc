// See live_requests.h. A request leaves the table before its sink hears the end.
#include "server/live_requests.h"

namespace dure {

LiveRequests::LiveRequests(std::shared_ptr<const Tokenizer> tokenizer)
    : tokenizer_(std::move(tokenizer)) {}

void LiveRequests::add(uint64_t id, const Generation& generation) {
  live_.emplace(id, Live{generation.sink, TextPipeline(tokenizer_, generation), generation.sampling,
                         static_cast<int32_t>(generation.prompt.size()), 0});
}

SequenceSetup LiveRequests::setup(uint64_t id) const {
  const Live& live = live_.at(id);
  return {live.sampling, live.prompt_tokens, {}};
}

bool LiveRequests::apply(const TokenEvent& event) {
  Live& live = live_.at(event.sequence);
  if (live.completion_tokens++ == 0) counts_.prompt_tokens += live.prompt_tokens;
  ++counts_.generation_tokens;

  // A stop id is not part of the text.
  std::string text = event.finish == Finish::stop ? "" : live.text.push(event.token);
  const bool ended = event.finish != Finish::none || live.text.stopped();
  if (ended) text += live.text.finish();
  if (!text.empty()) live.sink->on_text(text);
  if (!ended) return false;

  GenerationEnd end;
  end.stopped = event.finish == Finish::stop || live.text.stopped();
  end.prompt_tokens = live.prompt_tokens;
  end.completion_tokens = live.completion_tokens;
  ++(end.stopped ? counts_.finished_stop : counts_.finished_length);
  const std::shared_ptr<GenerationSink> sink = std::move(live.sink);
  live_.erase(event.sequence);
  sink->on_end(end);
  return true;
}

bool LiveRequests::cancel(uint64_t id) {
  if (live_.erase(id) == 0) return false;
  ++counts_.cancelled;
  return true;
}

void LiveRequests::fail(uint64_t id, const Error& error) {
  const auto found = live_.find(id);
  const std::shared_ptr<GenerationSink> sink = std::move(found->second.sink);
  live_.erase(found);
  ++counts_.failed;
  sink->on_error(error);
}

void LiveRequests::fail_all(const Error& error) {
  while (!live_.empty()) fail(live_.begin()->first, error);
}

}  // namespace dure
