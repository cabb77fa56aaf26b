// See answer_reading.h.
#include "server/answer_reading.h"

#include <algorithm>
#include <utility>

namespace dure {

AnswerReading::AnswerReading(const ReadingPlan& plan)
    : tell_reasoning_(plan.tell_reasoning),
      parallel_calls_(plan.parallel_calls),
      call_was_named_(plan.call_was_named) {
  if (plan.parsing) parser_.emplace(*plan.parsing);
}

std::vector<AnswerDelta> AnswerReading::push(std::string_view text) {
  if (parser_) return told(parser_->push(text));
  if (text.empty()) return {};
  return {AnswerDelta{AnswerDelta::Kind::content, std::string(text), 0, "", ""}};
}

std::vector<AnswerDelta> AnswerReading::finish(const GenerationEnd& end) {
  return parser_ ? told(parser_->finish(!end.stopped)) : std::vector<AnswerDelta>();
}

const char* AnswerReading::finish_reason(const GenerationEnd& end) const {
  if (!end.stopped) return "length";
  return parser_ && parser_->calls() > 0 && !call_was_named_ ? "tool_calls" : "stop";
}

std::vector<AnswerDelta> AnswerReading::told(std::vector<AnswerDelta> deltas) const {
  using Kind = AnswerDelta::Kind;
  std::erase_if(deltas, [&](const AnswerDelta& delta) {
    if (delta.kind == Kind::call_end) return true;  // clients see it by what follows
    if (delta.kind == Kind::reasoning) return !tell_reasoning_;
    return delta.kind != Kind::content && delta.index > 0 && !parallel_calls_;
  });
  return deltas;
}

}  // namespace dure
