// See answer.h. The first error ends the whole answer; what other choices still say is dropped.
#include "server/answer.h"

#include <string>

#include "server/api_errors.h"

namespace dure {
namespace {

// The part of an answer that one generation fills.
template <class Answer>
class ChoiceSink : public GenerationSink {
 public:
  ChoiceSink(std::shared_ptr<Answer> answer, int index)
      : answer_(std::move(answer)), index_(index) {}

  void on_text(const TextPiece& piece) override { answer_->on_text(index_, piece.text); }
  void on_end(const GenerationEnd& end) override { answer_->on_end(index_, end); }
  void on_error(const Error& error) override { answer_->on_error(error); }

 private:
  std::shared_ptr<Answer> answer_;
  int index_;
};

template <class Answer>
std::vector<std::shared_ptr<GenerationSink>> sinks_of(const std::shared_ptr<Answer>& answer,
                                                      int choices) {
  std::vector<std::shared_ptr<GenerationSink>> sinks;
  sinks.reserve(static_cast<size_t>(choices));
  for (int i = 0; i < choices; ++i)
    sinks.push_back(std::make_shared<ChoiceSink<Answer>>(answer, i));
  return sinks;
}

class WholeAnswer {
 public:
  WholeAnswer(AnswerHead head, int choices, std::shared_ptr<Exchange> exchange)
      : head_(std::move(head)),
        exchange_(std::move(exchange)),
        choices_(static_cast<size_t>(choices)),
        open_(choices) {}

  void on_text(int index, std::string_view text) {
    choices_[static_cast<size_t>(index)].text += text;
  }

  void on_end(int index, const GenerationEnd& end) {
    choices_[static_cast<size_t>(index)].end = end;
    if (--open_ > 0 || failed_) return;
    HttpResponse response;
    response.body = whole_answer(head_, choices_);
    exchange_->reply(std::move(response));
  }

  void on_error(const Error& error) {
    if (!failed_) exchange_->reply(error_response(api_error_of(error)));
    failed_ = true;
  }

 private:
  AnswerHead head_;
  std::shared_ptr<Exchange> exchange_;
  std::vector<Choice> choices_;
  int open_;
  bool failed_ = false;
};

// Nothing is sent before the first text or end, so that an early error still gets its own status.
class StreamedAnswer {
 public:
  StreamedAnswer(AnswerHead head, int choices, std::shared_ptr<Exchange> exchange)
      : head_(std::move(head)),
        exchange_(std::move(exchange)),
        begun_(static_cast<size_t>(choices), false),
        open_(choices) {}

  void on_text(int index, std::string_view text) {
    if (failed_) return;
    begin(index);
    exchange_->write(event(text_chunk(head_, index, text)));
  }

  void on_end(int index, const GenerationEnd& end) {
    if (failed_) return;
    begin(index);
    std::string bytes = event(end_chunk(head_, index, end));
    usage_.prompt_tokens += end.prompt_tokens;
    usage_.completion_tokens += end.completion_tokens;
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
  void begin(int index) {
    if (!streaming_) exchange_->start_stream();
    streaming_ = true;
    if (begun_[static_cast<size_t>(index)]) return;
    begun_[static_cast<size_t>(index)] = true;
    if (head_.chat) exchange_->write(event(role_chunk(head_, index)));
  }

  AnswerHead head_;
  std::shared_ptr<Exchange> exchange_;
  std::vector<bool> begun_;  // [choice]
  Usage usage_;
  int open_;
  bool streaming_ = false;
  bool failed_ = false;
};

}  // namespace

std::vector<std::shared_ptr<GenerationSink>> whole_answer_sinks(
    const AnswerHead& head, int choices, std::shared_ptr<Exchange> exchange) {
  return sinks_of(std::make_shared<WholeAnswer>(head, choices, std::move(exchange)), choices);
}

std::vector<std::shared_ptr<GenerationSink>> streamed_answer_sinks(
    const AnswerHead& head, int choices, std::shared_ptr<Exchange> exchange) {
  return sinks_of(std::make_shared<StreamedAnswer>(head, choices, std::move(exchange)), choices);
}

}  // namespace dure
