// See answer.h. The first error ends the whole answer; what other choices still say is dropped.
#include "server/answer.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "server/api_errors.h"
#include "server/logprobs_json.h"

namespace dure {
namespace {

// The part of an answer that one generation fills.
template <class Answer>
class ChoiceSink : public GenerationSink {
 public:
  ChoiceSink(std::shared_ptr<Answer> answer, size_t index)
      : answer_(std::move(answer)), index_(index) {}

  void on_prompt(std::span<const TokenLogprobs> tokens) override {
    answer_->on_prompt(index_, tokens);
  }
  void on_text(const TextPiece& piece) override { answer_->on_text(index_, piece); }
  void on_end(const GenerationEnd& end) override { answer_->on_end(index_, end); }
  void on_error(const Error& error) override { answer_->on_error(error); }

 private:
  std::shared_ptr<Answer> answer_;
  size_t index_;
};

template <class Answer>
std::vector<std::shared_ptr<GenerationSink>> sinks_of(const std::shared_ptr<Answer>& answer,
                                                      size_t choices) {
  std::vector<std::shared_ptr<GenerationSink>> sinks;
  sinks.reserve(choices);
  for (size_t i = 0; i < choices; ++i) {
    sinks.push_back(std::make_shared<ChoiceSink<Answer>>(answer, i));
  }
  return sinks;
}

// What was dropped was not cut short by a stop either.
GenerationEnd end_of(const ChoicePlan& plan, const GenerationEnd& end) {
  if (!plan.without_answer) return end;
  GenerationEnd none = end;
  none.stopped = false;
  none.stop_id.reset();
  none.stop_string.clear();
  return none;
}

class WholeAnswer : public std::enable_shared_from_this<WholeAnswer> {
 public:
  WholeAnswer(AnswerHead head, std::vector<ChoicePlan> plans, std::shared_ptr<Exchange> exchange,
              WorkerPool& workers)
      : head_(std::move(head)),
        exchange_(std::move(exchange)),
        workers_(workers),
        choices_(plans.size()),
        open_(plans.size()) {
    for (size_t i = 0; i < plans.size(); ++i) {
      readings_.emplace_back(plans[i].reading);
      choices_[i].plan = std::move(plans[i]);
    }
  }

  void on_prompt(size_t index, std::span<const TokenLogprobs> tokens) {
    choices_[index].prompt.assign(tokens.begin(), tokens.end());
  }

  void on_text(size_t index, const TextPiece& piece) {
    Choice& choice = choices_[index];
    if (choice.plan.without_answer) return;
    for (const AnswerDelta& delta : readings_[index].push(piece.text)) add(choice, delta);
    choice.tokens.insert(choice.tokens.end(), piece.tokens.begin(), piece.tokens.end());
  }

  void on_end(size_t index, const GenerationEnd& end) {
    Choice& choice = choices_[index];
    choice.end = end_of(choice.plan, end);
    if (!choice.plan.without_answer) {
      for (const AnswerDelta& delta : readings_[index].finish(end)) add(choice, delta);
    }
    choice.finish_reason = readings_[index].finish_reason(choice.end);
    if (--open_ > 0 || failed_) return;
    if (!head_.texts) return reply();
    try {
      workers_.post([self = shared_from_this()] { self->reply(); });
    } catch (const Error&) {
      reply();
    }
  }

  void on_error(const Error& error) {
    if (!failed_) exchange_->reply(error_response(api_error_of(error)));
    failed_ = true;
  }

 private:
  static void add(Choice& choice, const AnswerDelta& delta) {
    switch (delta.kind) {
      case AnswerDelta::Kind::reasoning:
        choice.reasoning += delta.text;
        break;
      case AnswerDelta::Kind::content:
        choice.text += delta.text;
        break;
      case AnswerDelta::Kind::call:
        choice.calls.push_back({delta.id, delta.name, ""});
        break;
      case AnswerDelta::Kind::arguments:
        choice.calls.back().arguments += delta.text;
        break;
      case AnswerDelta::Kind::call_end:
        break;
    }
  }

  void reply() {
    HttpResponse response;
    response.body = whole_answer(head_, choices_);
    exchange_->reply(std::move(response));
  }

  AnswerHead head_;
  std::shared_ptr<Exchange> exchange_;
  WorkerPool& workers_;
  std::vector<Choice> choices_;
  std::vector<AnswerReading> readings_;  // [choice]
  size_t open_;
  bool failed_ = false;
};

// Nothing is sent before the first text or end, so that an early error still gets its own status.
class StreamedAnswer {
 public:
  StreamedAnswer(AnswerHead head, std::vector<ChoicePlan> plans, std::shared_ptr<Exchange> exchange)
      : head_(std::move(head)), exchange_(std::move(exchange)), open_(plans.size()) {
    for (ChoicePlan& plan : plans) choices_.emplace_back(std::move(plan), head_);
  }

  void on_prompt(size_t, std::span<const TokenLogprobs>) {}  // refused in streams

  void on_text(size_t index, const TextPiece& piece) {
    if (failed_) return;
    begin(index);
    Streamed& choice = choices_[index];
    if (choice.plan.without_answer) return;
    choice.untold.insert(choice.untold.end(), piece.tokens.begin(), piece.tokens.end());
    tell(index, choice.reading.push(piece.text));
  }

  void on_end(size_t index, const GenerationEnd& end) {
    if (failed_) return;
    begin(index);
    Streamed& choice = choices_[index];
    const ChoicePlan& plan = choice.plan;
    const GenerationEnd told = end_of(plan, end);
    if (!plan.without_answer) {
      std::vector<AnswerDelta> rest = choice.reading.finish(end);
      if (rest.empty() && !choice.untold.empty()) rest.emplace_back();
      tell(index, rest);
    }
    std::string bytes =
        event(end_chunk(head_, static_cast<int>(index), told, choice.reading.finish_reason(told)));
    add_usage(usage_, plan, end);
    const bool last = --open_ == 0;
    if (last && head_.include_usage) bytes += event(usage_chunk(head_, usage_));
    if (last) bytes += event("[DONE]");
    exchange_->write(bytes);
    if (last) exchange_->finish_stream();
  }

  void on_error(const Error& error) {
    if (failed_) return;
    failed_ = true;
    const ApiError answer = api_error_of(error);
    if (!streaming_) return exchange_->reply(error_response(answer));
    exchange_->write(event(error_json(answer)));
    exchange_->finish_stream();
  }

 private:
  struct Streamed {
    Streamed(ChoicePlan made, const AnswerHead& head)
        : plan(std::move(made)), reading(plan.reading) {
      if (head.logprobs < 0 || head.chat) return;
      lists.emplace(head.logprobs, *head.texts);
      lists->skip(plan.echo);
    }

    // Of the tokens that were not told yet.
    Json logprobs(const AnswerHead& head) {
      if (head.logprobs < 0) return nullptr;
      const std::vector<TokenLogprobs> tokens = std::exchange(untold, {});
      if (!lists) return chat_logprobs(tokens, head.logprobs, *head.texts);
      lists->add(tokens);
      return lists->take();
    }

    ChoicePlan plan;
    AnswerReading reading;
    std::optional<CompletionLogprobs> lists;
    std::vector<TokenLogprobs> untold;  // what they are part of is held back
    bool begun = false;
  };

  // Log-probabilities go with the first of the chunks.
  void tell(size_t index, const std::vector<AnswerDelta>& deltas) {
    for (const AnswerDelta& delta : deltas) {
      const bool first = &delta == &deltas.front();
      exchange_->write(event(delta_chunk(head_, static_cast<int>(index), delta,
                                         first ? choices_[index].logprobs(head_) : Json())));
    }
  }

  void begin(size_t index) {
    if (!streaming_) exchange_->start_stream();
    streaming_ = true;
    Streamed& choice = choices_[index];
    if (choice.begun) return;
    choice.begun = true;
    const int number = static_cast<int>(index);
    if (head_.chat) exchange_->write(event(role_chunk(head_, number)));
    if (!choice.plan.echo.empty()) {
      exchange_->write(event(delta_chunk(
          head_, number, {AnswerDelta::Kind::content, choice.plan.echo, 0, "", ""}, nullptr)));
    }
  }

  AnswerHead head_;
  std::shared_ptr<Exchange> exchange_;
  std::vector<Streamed> choices_;
  Usage usage_;
  size_t open_;
  bool streaming_ = false;
  bool failed_ = false;
};

}  // namespace

std::vector<std::shared_ptr<GenerationSink>> whole_answer_sinks(const AnswerHead& head,
                                                                std::vector<ChoicePlan> plans,
                                                                std::shared_ptr<Exchange> exchange,
                                                                WorkerPool& workers) {
  const size_t choices = plans.size();
  return sinks_of(
      std::make_shared<WholeAnswer>(head, std::move(plans), std::move(exchange), workers), choices);
}

std::vector<std::shared_ptr<GenerationSink>> streamed_answer_sinks(
    const AnswerHead& head, std::vector<ChoicePlan> plans, std::shared_ptr<Exchange> exchange) {
  const size_t choices = plans.size();
  return sinks_of(std::make_shared<StreamedAnswer>(head, std::move(plans), std::move(exchange)),
                  choices);
}

}  // namespace dure
