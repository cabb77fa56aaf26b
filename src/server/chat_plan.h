// How the answer to a chat is held to what the request demands, and how it is read.
#pragma once

#include <optional>
#include <string>

#include "server/answer_reading.h"
#include "server/grammars.h"
#include "server/requests.h"
#include "server/served_model.h"

namespace dure {

struct ChatPlan {
  ReadingPlan reading;
  std::optional<GrammarSource> grammar;
  std::optional<AnswerOptions> reasoning;  // that the prompt opened: it goes before the grammar
};

// `prompt`: as rendered. Throws bad_input where the request demands two forms at once.
ChatPlan plan_chat(const ChatCall& call, const std::string& prompt, const ServedModel& model);

}  // namespace dure
