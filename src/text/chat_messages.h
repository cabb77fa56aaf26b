// Messages as a client sends them, changed to what templates expect.
#pragma once

#include "base/json.h"
#include "text/chat_template.h"
#include "text/jinja_value.h"

namespace dure {

// Which changes are made, in this order for each message.
struct MessageRules {
  bool fill_content = false;       // content missing or null becomes ""
  bool join_parts = false;         // a list of text parts becomes one text
  bool drop_empty_calls = false;   // tool_calls null or [] goes
  bool convert_arguments = false;  // arguments take the form the template wants
  bool fill_arguments = false;     // arguments missing or null become empty
  bool reference = false;          // null keys go, reasoning is copied
  ToolCallForm tool_calls = {};    // the form the template wants
};
MessageRules rules_of(MessageForm form, const ToolCallForm& fitting);

// The messages, a list of objects, as template values.
jinja::Value prepare_messages(const Json& messages, const MessageRules& rules);

// The text that the last message's content ends with gets this mark behind it, so that the place
// can be found in the prompt. Throws a value fault if that content has no text.
jinja::Value mark_final_message(const jinja::Value& messages, const std::string& mark);

}  // namespace dure
