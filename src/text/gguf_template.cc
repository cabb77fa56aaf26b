// See gguf_template.h.
#include "text/gguf_template.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "gguf/gguf_model.h"
#include "gguf/vocabulary.h"
#include "text/gguf_tokenizer.h"

namespace dure {

GgufTemplate read_gguf_template(const std::filesystem::path& file) {
  const GgufMetadata metadata = read_gguf_metadata(file);
  const GgufVocabulary vocabulary = read_gguf_vocabulary(metadata);
  if (!vocabulary.chat_template) {
    throw_bad_input(fmt::format("{}: no chat template", file.string()),
                    "a base model has none: use /v1/completions", gguf_template_key);
  }
  GgufTemplate found;
  found.plain = *vocabulary.chat_template;
  found.with_tools = metadata.optional_text("tokenizer.chat_template.tool_use").value_or("");
  found.what = fmt::format("{}: {}", file.string(), gguf_template_key);
  const auto text = [&](int32_t id) { return vocabulary.tokens[static_cast<size_t>(id)]; };
  Json tokens = Json::object();
  if (vocabulary.bos) tokens["bos_token"] = text(*vocabulary.bos);
  if (vocabulary.eos) tokens["eos_token"] = text(*vocabulary.eos);
  if (vocabulary.unknown) tokens["unk_token"] = text(*vocabulary.unknown);
  found.special_tokens = tokens.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (begins_with_bos(vocabulary)) found.begin = text(*vocabulary.bos);
  return found;
}

bool begins_with(const ChatTemplate& chat_template, const std::string& text) {
  const Json messages = Json::array({{{"role", "user"}, {"content", "Hello"}}});
  ChatRequest request;
  request.messages = &messages;
  try {
    return chat_template.render(request).starts_with(text);
  } catch (const Error&) {
    return true;  // it wants other messages: nothing is known, so it stays as it is
  }
}

}  // namespace dure
