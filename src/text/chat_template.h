// A conversation becomes the prompt text by the checkpoint's own chat template, read by the Jinja
// interpreter in this folder: sandboxed, bounded in steps, depth, memory and output.
#pragma once

#include <ctime>
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace dure {

// How messages are changed before the template sees them.
enum class MessageForm {
  // As `server`, except for templates that need tool calls in another form (see ToolCallForm), and
  // calls without arguments have empty ones.
  fitting,
  // Missing or null content becomes "", empty tool_calls go, arguments that are JSON text become
  // the
  // value, lists of text parts become one text joined by newlines; then as `reference`.
  server,
  // What transformers' apply_chat_template does: null keys of a message go, and reasoning is copied
  // to
  // `reasoning_content` and `thinking`.
  reference,
  // As the client sent them.
  unchanged,
};

// What the template wants in an assistant message with tool calls, found out at load by rendering a
// small conversation in each form, the server's own first, until name and argument of the call come
// out.
struct ToolCallForm {
  bool null_content = false;    // content must be null where there is no text
  bool text_arguments = false;  // arguments must be the JSON text
  bool short_ids = false;       // ids must have nine letters or digits
  bool works = false;           // one of the forms put the call into the prompt
};

struct ChatRequest {
  const Json* messages = nullptr;  // array of objects, as the client sent it
  const Json* tools = nullptr;     // array, or null (also by pointing at a JSON null)
  const Json* extra = nullptr;     // object of further variables (chat_template_kwargs), or null
  bool add_generation_prompt = true;
  // Ends the prompt right behind the last message's content, so that the model goes on with it.
  bool continue_final_message = false;
  std::optional<std::tm> now = {};  // for strftime_now; the machine's local time if absent
  MessageForm form = MessageForm::fitting;
};

class ChatTemplate {
 public:
  // Reads the template of a checkpoint folder (`chat_template.jinja`, `chat_template.json`, or
  // `chat_template` in tokenizer_config.json, where it may be a text or a list of named ones: then
  // `tool_use` serves requests with tools and `default` the others) and its special tokens.
  // Throws bad_input if there is none or if it uses a construct that is not implemented.
  // Or that of a GGUF file: where the file says that texts begin with a token and its template does
  // not put it there, it is put before the prompt, so that it is there once in either case.
  static std::shared_ptr<const ChatTemplate> load(const std::filesystem::path& model);
  // Whether there is one to load, right or wrong.
  static bool is_in(const std::filesystem::path& model);
  // `special_tokens`: object of name ("bos_token") to text.
  static std::shared_ptr<const ChatTemplate> parse(std::string_view source,
                                                   const Json& special_tokens,
                                                   std::string_view what);

  ~ChatTemplate();
  ChatTemplate(const ChatTemplate&) = delete;
  ChatTemplate& operator=(const ChatTemplate&) = delete;

  // Thread-safe. Throws bad_input with field "messages" (or "tools", "chat_template_kwargs" where
  // their form is wrong): where the template raises an exception, the message is the template's own
  // words.
  std::string render(const ChatRequest& request) const;

  const ToolCallForm& tool_call_form() const;
  // The template's own text, the one for requests with tools where there are two.
  const std::string& source() const;

 private:
  struct Impl;
  explicit ChatTemplate(std::unique_ptr<Impl> impl);
  // `tool_source` may be empty: then `source` serves requests with tools too.
  static std::shared_ptr<const ChatTemplate> make(std::string_view source,
                                                  std::string_view tool_source,
                                                  const Json& special_tokens,
                                                  std::string_view what);
  std::unique_ptr<Impl> impl_;
};

}  // namespace dure
