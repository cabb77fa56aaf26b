// What a ChatTemplate holds, and the rendering below its checks. Internal to src/text.
#pragma once

#include <memory>

#include "text/chat_messages.h"
#include "text/chat_template.h"
#include "text/jinja.h"

namespace dure {

struct ChatTemplate::Impl {
  std::unique_ptr<const jinja::Template> plain;
  std::unique_ptr<const jinja::Template> with_tools;  // null: `plain` serves all
  std::string source;                                 // of the one that serves tools
  jinja::Variables special_tokens;
  ToolCallForm form;
};

// Renders a request that has been checked. Throws JinjaError.
std::string render_chat(const jinja::Template& source, const jinja::Variables& special_tokens,
                        const MessageRules& rules, const ChatRequest& request);

// Finds out in which form the template takes tool calls (chat_template_probe.cc).
ToolCallForm probe_tool_calls(const jinja::Template& source,
                              const jinja::Variables& special_tokens);

}  // namespace dure
