// A model's answer, as its text streams: reasoning, content and tool calls.
//
// The text may come in any pieces that are whole characters; what they say does not depend on how
// the text was cut. What may be the beginning of a mark is held back until it is known to be one.
// Nothing a model writes is an error and nothing is lost: what looks like a call and is none
// becomes content, and arguments that are no JSON stay the text they are. A call counts whatever
// its name is: whether the request offered such a tool is for the client to see. White space
// between text and a call or reasoning belongs to the format and is left out.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "dialogue/answer_delta.h"
#include "dialogue/formats.h"
#include "dialogue/tools.h"

namespace dure {

struct AnswerOptions {
  AnswerFormat format;
  std::vector<Tool> tools;           // of the request, for the types of parameters
  bool starts_in_reasoning = false;  // prompt_opens_reasoning
  std::string id_seed;               // names the answer (request id, choice); ids come of it
};

class AnswerParser {
 public:
  explicit AnswerParser(AnswerOptions options);
  AnswerParser(AnswerParser&&) noexcept;
  AnswerParser& operator=(AnswerParser&&) noexcept;
  ~AnswerParser();

  // What can be told now. Neighbouring deltas of one kind are one delta.
  std::vector<AnswerDelta> push(std::string_view piece);
  // What was held back, when the answer is over. `cut`: by its length, so that a call that is not
  // complete stays so. A stop token that ends a call (gpt-oss) need not have been pushed.
  std::vector<AnswerDelta> finish(bool cut);

  bool in_reasoning() const;  // a grammar for the answer does not apply yet
  int calls() const;          // that have begun

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dure
