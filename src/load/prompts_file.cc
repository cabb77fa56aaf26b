// Prompts as somebody wrote them, in a file of JSON lines; see prompt.h.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "base/text_file.h"
#include "load/lengths.h"
#include "load/lines.h"
#include "load/prompt.h"

namespace dure::load {
namespace {

constexpr size_t most_file_bytes = size_t{1} << 30;

[[noreturn]] void refuse(std::string_view what, size_t line, const char* why) {
  throw_bad_input(fmt::format("{} line {}: {}", what, line, why),
                  R"(a line is {"prompt": "…"} or {"messages": […]}, perhaps with "output": 64)");
}

bool are_ids(const Json& prompt) {
  if (!prompt.is_array() || prompt.empty()) return false;
  for (const Json& id : prompt) {
    if (!id.is_number_integer()) return false;
  }
  return true;
}

GivenPrompt given_prompt(const Json& row, std::string_view what, size_t line, bool chat) {
  if (!row.is_object()) refuse(what, line, "not an object");
  GivenPrompt prompt;
  const bool has_messages = row.contains("messages");
  const bool has_prompt = row.contains("prompt");
  prompt.is_chat = has_messages && (chat || !has_prompt);
  if (!has_messages && !has_prompt) refuse(what, line, "neither prompt nor messages");
  const Json& from = row.at(prompt.is_chat ? "messages" : "prompt");
  prompt.is_text = from.is_string();
  const bool good =
      prompt.is_chat ? from.is_array() && !from.empty() : from.is_string() || are_ids(from);
  if (!good) refuse(what, line, "the prompt is not a text, token ids, or a list of messages");
  for (const char* key : {"output", "max_tokens"}) {
    if (!row.contains(key)) continue;
    const Json& output = row.at(key);
    if (!output.is_number_integer() || output < 1 || output > most_tokens) {
      refuse(what, line, "the length of the answer is not a number of tokens");
    }
    prompt.output = output.get<int64_t>();
    break;
  }
  prompt.json = from.dump();
  return prompt;
}

}  // namespace

std::vector<GivenPrompt> parse_prompts(std::string_view text, std::string_view what, bool chat) {
  std::vector<GivenPrompt> prompts;
  for_each_line(text, [&](std::string_view line, size_t number) {
    const Json row = parse_json(line, fmt::format("{} line {}", what, number));
    prompts.push_back(given_prompt(row, what, number, chat));
  });
  if (prompts.empty()) throw_bad_input(fmt::format("{}: no prompts", what));
  return prompts;
}

std::vector<GivenPrompt> read_prompts(const std::filesystem::path& path, bool chat) {
  return parse_prompts(read_text_file(path, most_file_bytes), path.string(), chat);
}

}  // namespace dure::load
