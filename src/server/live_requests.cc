// See live_requests.h. A request leaves the table before its sink hears the end.
#include "server/live_requests.h"

#include <algorithm>
#include <utility>

namespace dure {

LiveRequests::Live::Live(std::shared_ptr<const Tokenizer> tokenizer, Generation made)
    : generation(std::move(made)),
      text(std::move(tokenizer), generation),
      prompt_tokens(static_cast<int32_t>(generation.prompt.size())) {}

LiveRequests::LiveRequests(std::shared_ptr<const Tokenizer> tokenizer, std::atomic<int>* taken)
    : tokenizer_(std::move(tokenizer)), taken_(taken) {}

void LiveRequests::add(uint64_t id, Generation generation, SteadyTime now) {
  const auto live = live_.emplace(id, Live(tokenizer_, std::move(generation))).first;
  live->second.times.submitted = live->second.times.last = now;
}

void LiveRequests::started(uint64_t id, SteadyTime now) {
  RequestTimes& times = live_.at(id).times;
  if (!times.started) times.started = now;
}

SequenceSetup LiveRequests::setup(uint64_t id, std::span<const int32_t> tokens,
                                  int32_t start) const {
  const Live& live = live_.at(id);
  SequenceSetup setup{live.generation.sampling, live.prompt_tokens, {}};
  if (needs_history(setup.sampling)) setup.history.assign(tokens.begin(), tokens.begin() + start);
  return setup;
}

int32_t LiveRequests::next_prompt_token(uint64_t id, std::span<const int32_t> tokens,
                                        int32_t position) const {
  const Live& live = live_.at(id);
  const bool wanted =
      live.generation.sampling.prompt_logprobs >= 0 && position < live.prompt_tokens;
  return wanted ? tokens[static_cast<size_t>(position)] : -1;
}

void LiveRequests::add_prompt_logprobs(uint64_t id, int32_t start,
                                       std::vector<TokenLogprobs> logprobs) {
  Live& live = live_.at(id);
  const size_t known = live.prompt_logprobs.size();
  const size_t again =
      std::min(known - std::min(known, static_cast<size_t>(start)), logprobs.size());
  std::move(logprobs.begin() + static_cast<std::ptrdiff_t>(again), logprobs.end(),
            std::back_inserter(live.prompt_logprobs));
}

bool LiveRequests::apply(const TokenEvent& event, std::optional<TokenLogprobs> logprobs,
                         SteadyTime now) {
  Live& live = live_.at(event.sequence);
  const Generation& generation = live.generation;
  live.deaths = 0;
  histograms_.token(live.times, now);
  if (live.completion_tokens++ == 0) {
    counts_.prompt_tokens += live.prompt_tokens;
    if (generation.sampling.prompt_logprobs >= 0) generation.sink->on_prompt(live.prompt_logprobs);
  }
  ++counts_.generation_tokens;
  if (generation.constraint) generation.constraint->accept(event.token);
  if (logprobs) live.untold.push_back(std::move(*logprobs));

  // A stop id is not part of the text.
  std::string text = event.finish == Finish::stop ? "" : live.text.push(event.token);
  const bool ended = event.finish != Finish::none || live.text.stopped();
  if (ended) text += live.text.finish();
  if (!text.empty() || (ended && !live.untold.empty())) {
    generation.sink->on_text({text, live.untold});
    live.untold.clear();
  }
  if (!ended) return false;

  const GenerationEnd end = end_of(live, event);
  histograms_.end(live.times, live.prompt_tokens, live.completion_tokens);
  ++(end.stopped ? counts_.finished_stop : counts_.finished_length);
  const std::shared_ptr<GenerationSink> sink = generation.sink;
  live_.erase(event.sequence);
  --*taken_;
  sink->on_end(end);
  return true;
}

GenerationEnd LiveRequests::end_of(const Live& live, const TokenEvent& event) {
  GenerationEnd end;
  end.stopped = event.finish == Finish::stop || live.text.stopped();
  const std::vector<int32_t>& stops = live.generation.stop_ids;
  if (live.text.stopped()) {
    end.stop_string = live.text.stop_string();
  } else if (event.finish == Finish::stop &&
             std::find(stops.begin(), stops.end(), event.token) != stops.end()) {
    end.stop_id = event.token;
  }
  end.prompt_tokens = live.prompt_tokens;
  end.reused_tokens = event.reused;
  end.completion_tokens = live.completion_tokens;
  return end;
}

bool LiveRequests::cancel(uint64_t id) {
  if (live_.erase(id) == 0) return false;
  --*taken_;
  ++counts_.cancelled;
  return true;
}

void LiveRequests::fail(uint64_t id, const Error& error) {
  const auto found = live_.find(id);
  const std::shared_ptr<GenerationSink> sink = std::move(found->second.generation.sink);
  live_.erase(found);
  --*taken_;
  ++counts_.failed;
  sink->on_error(error);
}

void LiveRequests::fail_all(const Error& error) {
  while (!live_.empty()) fail(live_.begin()->first, error);
}

}  // namespace dure
