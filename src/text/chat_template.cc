// Rendering requests: checks, variables, the two named templates, and what an error means to the
// client.
#include "text/chat_template.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "text/chat_template_impl.h"
#include "text/jinja_json.h"
#include "text/python_unicode.h"

namespace dure {
namespace {

using jinja::Fault;
using jinja::JinjaError;
using jinja::Value;

// Behind the text to continue; the space at its end shows whether the template trims what it is
// given.
const std::string continue_mark = "DURE_CONTINUES_FROM_HERE ";

std::unique_ptr<const jinja::Template> compile(std::string_view source, std::string_view what) {
  try {
    return std::make_unique<const jinja::Template>(source);
  } catch (const JinjaError& error) {
    const std::string place =
        error.line > 0 ? fmt::format("{}, line {}", what, error.line) : std::string(what);
    if (error.fault == Fault::unsupported) {
      throw_bad_input(fmt::format("{}: the chat template uses {}, which Dure does not implement",
                                  place, error.message),
                      "edit the template so that it does without, or give another one");
    }
    throw_bad_input(fmt::format("{}: the chat template is not valid: {}", place, error.message),
                    "the checkpoint's template is damaged or made for another template language");
  }
}

[[noreturn]] void report(const JinjaError& error) {
  if (error.fault == Fault::raised) {
    throw_bad_input(
        error.message.empty() ? "the chat template refused the conversation" : error.message,
        "the model's own chat template refuses this conversation", "messages");
  }
  const std::string place = error.line > 0 ? fmt::format(" (line {})", error.line) : "";
  throw_bad_input(
      fmt::format("the chat template failed{}: {}", place, error.message),
      "a message may lack a field that this model's template needs, or have a form it cannot take",
      "messages");
}

bool absent(const Json* json) {
  return json == nullptr || json->is_null();
}

void check(const ChatRequest& request) {
  if (request.messages == nullptr || !request.messages->is_array()) {
    throw_bad_input("messages is not a list", "send a list of {\"role\", \"content\"}", "messages");
  }
  for (size_t i = 0; i < request.messages->size(); ++i) {
    if (!(*request.messages)[i].is_object()) {
      throw_bad_input(fmt::format("messages[{}] is not an object", i),
                      "each message is {\"role\", \"content\"}", fmt::format("messages[{}]", i));
    }
  }
  if (!absent(request.tools) && !request.tools->is_array()) {
    throw_bad_input("tools is not a list", "", "tools");
  }
  if (!absent(request.extra) && !request.extra->is_object()) {
    throw_bad_input("chat_template_kwargs is not an object", "", "chat_template_kwargs");
  }
  if (request.continue_final_message && request.add_generation_prompt) {
    throw_bad_input("continue_final_message and add_generation_prompt exclude each other",
                    "set add_generation_prompt to false to continue the last message",
                    "continue_final_message");
  }
}

std::string cut_at_mark(const std::string& prompt) {
  const std::string_view mark = continue_mark;
  const std::string_view trimmed = mark.substr(0, mark.size() - 1);
  const size_t at = prompt.rfind(trimmed);
  if (at == std::string::npos) {
    jinja::fail_value("the template leaves the final message out, so it cannot be continued");
  }
  const std::string_view before = std::string_view(prompt).substr(0, at);
  if (std::string_view(prompt).substr(at).starts_with(mark)) return std::string(before);
  return std::string(py_strip(before, Side::right));
}

}  // namespace

std::string render_chat(const jinja::Template& source, const jinja::Variables& special_tokens,
                        const MessageRules& rules, const ChatRequest& request) {
  Value messages = prepare_messages(*request.messages, rules);
  if (request.continue_final_message) messages = mark_final_message(messages, continue_mark);
  jinja::Variables variables = special_tokens;
  variables.emplace_back("messages", std::move(messages));
  variables.emplace_back("tools",
                         absent(request.tools) ? Value() : jinja::from_json(*request.tools));
  variables.emplace_back("documents", Value());
  variables.emplace_back("add_generation_prompt", Value::boolean(request.add_generation_prompt));
  if (!absent(request.extra)) {
    for (const auto& [name, value] : request.extra->items()) {
      variables.emplace_back(name, jinja::from_json(value));
    }
  }
  std::string prompt = source.render(variables, request.now);
  return request.continue_final_message ? cut_at_mark(prompt) : prompt;
}

ChatTemplate::ChatTemplate(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ChatTemplate::~ChatTemplate() = default;

std::shared_ptr<const ChatTemplate> ChatTemplate::parse(std::string_view source,
                                                        const Json& special_tokens,
                                                        std::string_view what) {
  return make(source, "", special_tokens, what);
}

std::shared_ptr<const ChatTemplate> ChatTemplate::make(std::string_view source,
                                                       std::string_view tool_source,
                                                       const Json& special_tokens,
                                                       std::string_view what) {
  auto impl = std::make_unique<Impl>();
  impl->plain = compile(source, what);
  if (!tool_source.empty()) impl->with_tools = compile(tool_source, what);
  impl->source = tool_source.empty() ? source : tool_source;
  for (const auto& [name, token] : special_tokens.items()) {
    impl->special_tokens.emplace_back(name, jinja::from_json(token));
  }
  const jinja::Template& for_tools = impl->with_tools ? *impl->with_tools : *impl->plain;
  impl->form = probe_tool_calls(for_tools, impl->special_tokens);
  return std::shared_ptr<const ChatTemplate>(new ChatTemplate(std::move(impl)));
}

std::string ChatTemplate::render(const ChatRequest& request) const {
  check(request);
  const bool tools = !absent(request.tools) && !request.tools->empty();
  const jinja::Template& source = tools && impl_->with_tools ? *impl_->with_tools : *impl_->plain;
  try {
    return render_chat(source, impl_->special_tokens, rules_of(request.form, impl_->form), request);
  } catch (const JinjaError& error) {
    report(error);
  }
}

const ToolCallForm& ChatTemplate::tool_call_form() const {
  return impl_->form;
}

const std::string& ChatTemplate::source() const {
  return impl_->source;
}

}  // namespace dure
