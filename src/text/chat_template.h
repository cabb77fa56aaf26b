// A conversation becomes the prompt text by the checkpoint's own chat template (a Jinja subset),
// read by the interpreter in this folder: sandboxed, bounded in steps, depth and output.
#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/json.h"

namespace dure {

struct ChatRequest;

class ChatTemplate {
 public:
  // Reads the template of a checkpoint folder (`chat_template.jinja`, or `chat_template` in
  // tokenizer_config.json, where it may be a string or a list of named ones) and its special
  // tokens. Throws bad_input if there is none or if it uses a construct that is not implemented.
  static std::shared_ptr<const ChatTemplate> load(const std::filesystem::path& folder);
  static std::shared_ptr<const ChatTemplate> parse(std::string_view source,
                                                   const Json& special_tokens,
                                                   std::string_view what);

  ~ChatTemplate();
  ChatTemplate(const ChatTemplate&) = delete;
  ChatTemplate& operator=(const ChatTemplate&) = delete;

  // Renders what the API's client sent after normalising it as a server does (null content, string
  // arguments, lists of text parts). Throws bad_input with the template's own words where it
  // raises.
  std::string render(const ChatRequest& request) const;

 private:
  struct Impl;
  explicit ChatTemplate(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace dure
