// What the text of one choice says: as it is, or parted into reasoning, content and tool calls.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "dialogue/answer_parser.h"
#include "server/generation.h"

namespace dure {

struct ReadingPlan {
  std::optional<AnswerOptions> parsing;  // none: all text is content
  bool tell_reasoning = true;
  bool parallel_calls = true;  // else the first call alone is told
  bool call_was_named = false;
};

class AnswerReading {
 public:
  explicit AnswerReading(const ReadingPlan& plan);

  std::vector<AnswerDelta> push(std::string_view text);
  std::vector<AnswerDelta> finish(const GenerationEnd& end);

  // "tool_calls" where the model ended behind calls of its own choice, as OpenAI has it.
  const char* finish_reason(const GenerationEnd& end) const;

 private:
  std::vector<AnswerDelta> told(std::vector<AnswerDelta> deltas) const;

  std::optional<AnswerParser> parser_;
  bool tell_reasoning_;
  bool parallel_calls_;
  bool call_was_named_;
};

}  // namespace dure
