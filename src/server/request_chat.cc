// The body of /v1/chat/completions.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "server/request_fields.h"

namespace dure {
namespace {

// Messages go to the template as they are, so only what no template could mean is refused here.
void check_content(const Json& content, const std::string& field) {
  if (content.is_string()) return;
  if (!content.is_array()) {
    throw_bad_input(
        fmt::format("{} must be a string or a list of text parts, not {}", field, quoted(content)),
        "", field);
  }
  for (size_t i = 0; i < content.size(); ++i) {
    const std::string where = fmt::format("{}[{}]", field, i);
    Fields part(content[i], where);
    const std::optional<std::string> type = part.text("type");
    if (!type) part.fail("type", "is missing");
    if (*type != "text") part.fail("type", "must be \"text\": this server reads text only");
    if (!part.text("text")) part.fail("text", "is missing");
    part.refuse_unknown();
  }
}

void check_message(const Json& message, const std::string& where) {
  Fields fields(message, where);
  const std::optional<std::string> role = fields.text("role");
  if (!role) fields.fail("role", "is missing");
  bool known = false;
  for (const char* name : {"system", "developer", "user", "assistant", "tool"}) {
    known = known || *role == name;
  }
  if (!known) {
    fields.fail("role",
                "must be system, developer, user, assistant or tool, not " + quoted(Json(*role)));
  }
  const Json* content = fields.find("content");
  if (content != nullptr) {
    check_content(*content, fields.path("content"));
  } else if (*role != "assistant") {
    fields.fail("content", "is missing");
  }
  const Json* calls = fields.find("tool_calls");
  if (calls != nullptr && !calls->is_array()) fields.fail("tool_calls", "must be a list");
  for (const char* name : {"name", "tool_call_id", "reasoning_content", "reasoning", "refusal"}) {
    fields.text(name);
  }
  fields.unsupported("audio");
  fields.unsupported("function_call");
  fields.unsupported("annotations");
  fields.refuse_unknown();
}

}  // namespace

Conversation read_conversation(Fields& fields) {
  const Json* messages = fields.find("messages");
  if (messages == nullptr) fields.fail("messages", "is missing");
  if (!messages->is_array() || messages->empty()) {
    fields.fail("messages", "must be a list of at least one message");
  }
  for (size_t i = 0; i < messages->size(); ++i) {
    check_message((*messages)[i], fmt::format("messages[{}]", i));
  }
  Conversation made;
  made.messages = std::make_shared<const Json>(*messages);
  made.continue_final_message = fields.boolean("continue_final_message").value_or(false);
  made.add_generation_prompt =
      fields.boolean("add_generation_prompt").value_or(!made.continue_final_message);
  if (made.continue_final_message && made.add_generation_prompt) {
    fields.fail("continue_final_message", "cannot be used together with add_generation_prompt");
  }
  made.add_special = fields.boolean("add_special_tokens").value_or(false);
  const Json* arguments = fields.find("chat_template_kwargs");
  if (arguments != nullptr) {
    if (!arguments->is_object()) fields.fail("chat_template_kwargs", "must be an object");
    for (const char* name : {"messages", "tools", "documents", "add_generation_prompt",
                             "continue_final_message", "chat_template", "tokenize"}) {
      if (arguments->contains(name)) {
        fields.fail("chat_template_kwargs",
                    fmt::format("must not hold {}, which is a field of the request itself", name));
      }
    }
    made.template_arguments = std::make_shared<const Json>(*arguments);
  }
  return made;
}

ChatCall parse_chat_call(std::string_view body, const ServedModel& model) {
  const Json json = parse_json(body, "request body");
  Fields fields(json, "");
  ChatCall call;
  call.generation = read_generation(fields, model);
  call.conversation = read_conversation(fields);
  fields.integer("top_logprobs", 0, 20);
  for (const char* name :
       {"top_logprobs", "tools", "functions", "function_call", "audio", "prediction",
        "web_search_options", "documents", "chat_template", "mm_processor_kwargs", "echo"}) {
    fields.unsupported(name);
  }
  fields.unsupported("include_reasoning", {true});
  fields.unsupported("tool_choice", {"none", "auto"});
  fields.unsupported("modalities", {Json::array({"text"})});
  fields.ignore({"parallel_tool_calls", "reasoning_effort"});
  fields.refuse_unknown();
  return call;
}

}  // namespace dure
