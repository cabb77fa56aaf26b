// Finding the template and the special tokens in a checkpoint folder.
#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file_entry.h"
#include "gguf/gguf_model.h"
#include "text/chat_template.h"
#include "text/gguf_template.h"

namespace dure {
namespace {

namespace fs = std::filesystem;

// The text of a special token, given as text or as an object with its content.
std::optional<std::string> token_text(const Json& token) {
  if (token.is_string()) return token.get<std::string>();
  if (token.is_object() && token.contains("content") && token["content"].is_string()) {
    return token["content"].get<std::string>();
  }
  return std::nullopt;
}

Json special_tokens_of(const fs::path& folder, const Json& config) {
  Json tokens = Json::object();
  const auto add = [&](const Json& source) {
    for (const auto& [key, token] : source.items()) {
      if (!key.ends_with("_token") || tokens.contains(key)) continue;
      if (const auto text = token_text(token)) tokens[key] = *text;
    }
  };
  if (config.is_object()) add(config);
  const fs::path map = folder / "special_tokens_map.json";
  if (is_there(map)) {
    const Json source = read_json_file(map);
    if (source.is_object()) add(source);
  }
  return tokens;
}

std::string read_text(const fs::path& path) {
  constexpr size_t largest = size_t{4} << 20;
  // A pipe would be waited for.
  std::error_code status;
  if (!fs::is_regular_file(path, status)) {
    throw_bad_input(
        fmt::format("{}: {}", path.string(),
                    status ? "cannot be read: " + status.message() : "not a regular file"));
  }
  std::ifstream file(path, std::ios::binary);
  std::string text;
  char buffer[1 << 16];
  while (file.read(buffer, sizeof buffer) || file.gcount() > 0) {
    text.append(buffer, static_cast<size_t>(file.gcount()));
    if (text.size() > largest) {
      throw_bad_input(fmt::format("{}: larger than {} bytes", path.string(), largest),
                      "a chat template is a short text");
    }
  }
  if (!file.eof()) throw_bad_input(fmt::format("{}: cannot be read", path.string()));
  return text;
}

struct Sources {
  std::string plain, with_tools;  // the second may be empty
  std::string what;
};

// `chat_template` as a text or as a list of {"name", "template"}.
std::optional<Sources> from_config(const Json& config, const fs::path& path) {
  if (!config.is_object() || !config.contains("chat_template")) return std::nullopt;
  const Json& given = config["chat_template"];
  Sources sources{"", "", path.string() + ": chat_template"};
  if (given.is_null()) return std::nullopt;
  if (given.is_string()) {
    sources.plain = given.get<std::string>();
    return sources;
  }
  bool found = false;
  if (given.is_array()) {
    for (const Json& entry : given) {
      const bool valid = entry.is_object() && entry.contains("name") && entry["name"].is_string() &&
                         entry.contains("template") && entry["template"].is_string();
      if (!valid) continue;
      if (entry["name"] == "default") {
        sources.plain = entry["template"].get<std::string>();
        found = true;
      }
      if (entry["name"] == "tool_use") sources.with_tools = entry["template"].get<std::string>();
    }
  }
  if (!found) {
    throw_bad_input(
        fmt::format("{}: chat_template is neither a text nor a list with a template "
                    "named \"default\"",
                    path.string()));
  }
  return sources;
}

Sources find_sources(const fs::path& folder, const Json& config) {
  const fs::path own = folder / "chat_template.jinja";
  if (is_there(own)) {
    const fs::path tools = folder / "additional_chat_templates" / "tool_use.jinja";
    return {read_text(own), is_there(tools) ? read_text(tools) : "", own.string()};
  }
  const fs::path json = folder / "chat_template.json";
  if (is_there(json)) {
    if (auto sources = from_config(read_json_file(json), json)) return *std::move(sources);
  }
  if (auto sources = from_config(config, folder / "tokenizer_config.json")) {
    return *std::move(sources);
  }
  throw_bad_input(fmt::format("{}: no chat template", folder.string()),
                  "a base model has none: use /v1/completions, or put a chat_template.jinja there");
}

}  // namespace

bool ChatTemplate::is_in(const fs::path& model) {
  if (const auto file = gguf_of(model)) return read_gguf_metadata(*file).has(gguf_template_key);
  for (const char* name : {"chat_template.jinja", "chat_template.json"}) {
    if (is_there(model / name)) return true;
  }
  const fs::path config = model / "tokenizer_config.json";
  if (!is_there(config)) return false;
  const Json json = read_json_file(config);
  if (!json.is_object()) return true;  // which load refuses
  return json.contains("chat_template") && !json["chat_template"].is_null();
}

std::shared_ptr<const ChatTemplate> ChatTemplate::load(const fs::path& folder) {
  if (const auto file = gguf_of(folder)) {
    const GgufTemplate found = read_gguf_template(*file);
    const Json special_tokens = parse_json(found.special_tokens, found.what);
    const auto made = make(found.plain, found.with_tools, special_tokens, found.what);
    if (found.begin.empty() || begins_with(*made, found.begin)) return made;
    const std::string before = "{{ bos_token }}";
    return make(before + found.plain, found.with_tools.empty() ? "" : before + found.with_tools,
                special_tokens, found.what);
  }
  const fs::path path = folder / "tokenizer_config.json";
  const Json config = is_there(path) ? read_json_file(path) : Json::object();
  if (!config.is_object()) {
    throw_bad_input(fmt::format("{}: not a JSON object", path.string()),
                    "the file is damaged: download it again");
  }
  const Sources sources = find_sources(folder, config);
  return make(sources.plain, sources.with_tools, special_tokens_of(folder, config), sources.what);
}

}  // namespace dure
