// What an answer turns out to say, piece by piece as the model writes it.
#pragma once

#include <string>

namespace dure {

struct AnswerDelta {
  enum class Kind {
    reasoning,  // text
    content,    // text
    call,       // a tool call begins: index, id, name
    arguments,  // index, text: the next piece of the call's arguments, which are JSON text
    call_end,   // index: the arguments are complete
  };
  Kind kind = Kind::content;
  std::string text;
  int index = 0;  // of the call within the answer, from 0
  std::string id;
  std::string name;

  bool operator==(const AnswerDelta&) const = default;
};

}  // namespace dure
