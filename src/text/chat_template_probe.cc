// Which form of tool calls a template takes. Most templates want the server's usual form: content
// "" and arguments as an object. Some concatenate the arguments' text, and of those some only look
// at tool calls when content is null. A wrong form fails or, worse, leaves the call out of the
// prompt without a word, so the template is asked: the first form whose prompt shows the call is
// the one to use.
#include <nlohmann/json.hpp>

#include "text/chat_template_impl.h"
#include "text/jinja_json.h"

namespace dure {
namespace {

// Nine letters and digits, since some templates check the form of ids.
constexpr std::string_view call_id = "call00001";
constexpr std::string_view long_call_id = "call_0123456789abcdefghijklmn";  // as most servers give
constexpr std::string_view name = "dure_probe_name";
constexpr std::string_view argument = "dure_probe_argument";
constexpr std::string_view value = "dure_probe_value";

Json conversation(std::string_view id) {
  const Json call = {{"id", id},
                     {"type", "function"},
                     {"function", {{"name", name}, {"arguments", {{argument, value}}}}}};
  const Json user = {{"role", "user"}, {"content", "x"}};
  const Json assistant = {
      {"role", "assistant"}, {"content", ""}, {"tool_calls", Json::array({call})}};
  const Json tool = {{"role", "tool"}, {"tool_call_id", id}, {"name", name}, {"content", "y"}};
  return Json::array({user, assistant, tool});
}

Json tool_list() {
  const Json property = {{"type", "string"}, {"description", "d"}};
  const Json parameters = {{"type", "object"},
                           {"properties", {{"other", property}}},
                           {"required", Json::array({"other"})}};
  return Json::array(
      {{{"type", "function"},
        {"function", {{"name", "dure_other"}, {"description", "d"}, {"parameters", parameters}}}}});
}

bool shows_call(const jinja::Template& source, const jinja::Variables& special_tokens,
                const ToolCallForm& form, const Json& messages, const Json& tools) {
  std::tm any_day{};
  any_day.tm_mday = 1;
  any_day.tm_year = 100;
  const ChatRequest request{.messages = &messages, .tools = &tools, .now = any_day};
  try {
    const std::string prompt =
        render_chat(source, special_tokens, rules_of(MessageForm::fitting, form), request);
    for (const std::string_view wanted : {name, argument, value}) {
      if (prompt.find(wanted) == std::string::npos) return false;
    }
    // Text that went through tojson once too often has its quotes escaped; a value that was printed
    // without it has Python's quotes.
    return prompt.find("\\\"" + std::string(argument)) == std::string::npos &&
           prompt.find("'" + std::string(argument) + "'") == std::string::npos;
  } catch (const jinja::JinjaError&) {
    return false;
  }
}

}  // namespace

ToolCallForm probe_tool_calls(const jinja::Template& source,
                              const jinja::Variables& special_tokens) {
  const Json messages = conversation(call_id);
  const Json usual_messages = conversation(long_call_id);
  const Json tools = tool_list();
  for (const bool text_arguments : {false, true}) {
    for (const bool null_content : {false, true}) {
      ToolCallForm form{.null_content = null_content,
                        .text_arguments = text_arguments,
                        .short_ids = false,
                        .works = true};
      if (!shows_call(source, special_tokens, form, messages, tools)) continue;
      form.short_ids = !shows_call(source, special_tokens, form, usual_messages, tools);
      return form;
    }
  }
  return {};
}

}  // namespace dure
