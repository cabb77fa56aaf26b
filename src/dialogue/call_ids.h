// Ids of tool calls for models that do not write any: the same request gets the same ids again, and
// two requests get different ones.
#pragma once

#include <string>
#include <string_view>

namespace dure::dialogue {

class CallIds {
 public:
  enum class Style {
    usual,        // "call_" and 24 letters and digits
    nine_letters  // 9 letters and digits, as Mistral's templates insist
  };
  // `seed` names the answer: the request's id and the number of the choice.
  CallIds(std::string_view seed, Style style);

  std::string id(int index) const;

 private:
  std::string seed_;
  Style style_;
};

}  // namespace dure::dialogue
