// See served_model.h.
#include "server/served_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file_entry.h"
#include "base/json.h"
#include "server/fields.h"

namespace dure {

SamplingDefaults read_sampling_defaults(const std::filesystem::path& folder) {
  SamplingDefaults defaults;
  const std::filesystem::path file = folder / "generation_config.json";
  if (!is_there(file)) return defaults;
  const Json config = read_json_file(file, size_t{1} << 20);
  Fields fields(config, file.string());
  defaults.temperature = fields.number("temperature", 0.0, 100.0).value_or(1.0);
  defaults.top_p = fields.number("top_p", 0.0, 1.0).value_or(1.0);
  if (defaults.top_p == 0.0) defaults.top_p = 1.0;
  defaults.min_p = fields.number("min_p", 0.0, 1.0).value_or(0.0);
  defaults.top_k = static_cast<int32_t>(
      std::max<int64_t>(0, fields.integer("top_k", -1, INT32_MAX).value_or(0)));
  if (fields.boolean("do_sample") == false) defaults.temperature = 0.0;
  return defaults;
}

AnswerFormat served_format(const ChatTemplate* chat_template, const Tokenizer& tokenizer,
                           const std::string& tool_parser, const std::string& reasoning_parser) {
  AnswerFormat format;
  if (chat_template != nullptr) {
    format = detect_format(chat_template->source(),
                           [&](std::string_view token) { return tokenizer.id_of(token) >= 0; });
  }
  if (!tool_parser.empty()) format.calls = call_format(tool_parser);
  if (!reasoning_parser.empty()) format.reasoning = reasoning_format(reasoning_parser);
  // One grammar of messages holds both.
  if ((format.calls == CallFormat::harmony) != (format.reasoning == ReasoningFormat::harmony)) {
    throw_bad_input(fmt::format("--tool-parser {} and --reasoning-parser {} do not go together",
                                to_string(format.calls), to_string(format.reasoning)),
                    "openai goes with openai_gptoss only", "--tool-parser");
  }
  return format;
}

bool ServedModel::answers_to(const std::string& name) const {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace dure
