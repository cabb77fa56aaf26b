// The body of /v1/chat/completions.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "server/request_fields.h"

namespace dure {
namespace {

// Messages go to the template as they are, so only what no template could mean is refused here.
void read_part(Fields& part) {
  part.choice("type", {"text"});  // this server reads text only
  part.require("type");
  part.text("text");
  part.require("text");
  part.refuse_unknown();
}

void read_message(Fields& fields) {
  fields.choice("role", {"system", "developer", "user", "assistant", "tool"});
  fields.require("role");
  fields.text_or_objects("content", read_part);
  fields.require_unless("role", "assistant", "content");
  const Json* calls = fields.find("tool_calls", {{"type", "array"}});
  if (calls != nullptr && !calls->is_array()) fields.fail("tool_calls", "must be a list");
  for (const char* name : {"name", "tool_call_id", "reasoning_content", "reasoning", "refusal"}) {
    fields.text(name);
  }
  fields.unsupported("audio");
  fields.unsupported("function_call");
  fields.unsupported("annotations");
  fields.refuse_unknown();
}

// Variables for the template, but none that the request has fields for.
std::shared_ptr<const Json> read_template_arguments(Fields& fields) {
  const std::vector<std::string> taken = {
      "messages",      "tools",   "documents", "add_generation_prompt", "continue_final_message",
      "chat_template", "tokenize"};
  const Json* arguments =
      fields.find("chat_template_kwargs",
                  {{"type", "object"}, {"propertyNames", {{"not", {{"enum", taken}}}}}});
  if (arguments == nullptr) return nullptr;
  if (!arguments->is_object()) fields.fail("chat_template_kwargs", "must be an object");
  for (const std::string& name : taken) {
    if (arguments->contains(name)) {
      fields.fail("chat_template_kwargs",
                  fmt::format("must not hold {}, which is a field of the request itself", name));
    }
  }
  return std::make_shared<const Json>(*arguments);
}

}  // namespace

Conversation read_conversation(Fields& fields) {
  Conversation made;
  const Json* messages = fields.objects("messages", 1, read_message);
  if (messages != nullptr) {
    check_history(*messages);
    made.messages = std::make_shared<const Json>(*messages);
  }
  made.continue_final_message = fields.boolean("continue_final_message").value_or(false);
  made.add_generation_prompt =
      fields.boolean("add_generation_prompt").value_or(!made.continue_final_message);
  if (made.continue_final_message && made.add_generation_prompt) {
    fields.fail("continue_final_message", "cannot be used together with add_generation_prompt");
  }
  made.add_special = fields.boolean("add_special_tokens").value_or(false);
  made.template_arguments = read_template_arguments(fields);
  return made;
}

namespace {

void read_logprobs(Fields& fields, GenerationFields& made) {
  const bool told = fields.boolean("logprobs").value_or(false);
  const auto count = fields.integer("top_logprobs", 0, most_logprobs).value_or(0);
  if (count > 0 && !told && !fields.describes()) {
    fields.fail("top_logprobs", "is only allowed when logprobs is true");
  }
  if (told) made.sampling.logprobs = static_cast<int32_t>(count);
}

ChatCall read_chat_call(Fields& fields, const ServedModel& model) {
  ChatCall call;
  call.generation = read_generation(fields, model, 1);
  read_logprobs(fields, call.generation);
  call.conversation = read_conversation(fields);
  fields.require("messages");
  read_tool_fields(fields, call);
  for (const char* name :
       {"functions", "function_call", "audio", "prediction", "web_search_options", "documents",
        "chat_template", "mm_processor_kwargs", "echo"}) {
    fields.unsupported(name);
  }
  fields.unsupported("modalities", {Json::array({"text"})});
  fields.refuse_unknown();
  return call;
}

}  // namespace

ChatCall parse_chat_call(std::string_view body, const ServedModel& model) {
  const Json json = parse_json(body, "request body");
  Fields fields(json, "");
  return read_chat_call(fields, model);
}

Json describe_chat_call(const ServedModel& model) {
  return describe_fields([&](Fields& fields) { read_chat_call(fields, model); });
}

}  // namespace dure
