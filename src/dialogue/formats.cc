// See formats.h: names.
#include "dialogue/formats.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"

namespace dure {
namespace {

template <class Format>
struct Named {
  std::string_view name;
  Format format;
};

// The first name of a format is its usual one.
constexpr Named<CallFormat> call_names[] = {
    {"none", CallFormat::none},
    {"hermes", CallFormat::hermes},
    {"qwen3_coder", CallFormat::qwen3_coder},
    {"qwen3_xml", CallFormat::qwen3_coder},
    {"mimo", CallFormat::qwen3_coder},
    {"llama3_json", CallFormat::llama3_json},
    {"llama4_json", CallFormat::llama3_json},
    {"pythonic", CallFormat::pythonic},
    {"llama4_pythonic", CallFormat::pythonic},
    {"deepseek_v3", CallFormat::deepseek_v3},
    {"deepseek_v31", CallFormat::deepseek_v31},
    {"deepseek_v32", CallFormat::deepseek_dsml},
    {"deepseek_v4", CallFormat::deepseek_dsml},
    {"glm45", CallFormat::glm},
    {"glm47", CallFormat::glm},
    {"openai", CallFormat::harmony},
    {"mistral", CallFormat::mistral_list},
    {"mistral_v11", CallFormat::mistral_args},
    {"kimi_k2", CallFormat::kimi_k2},
    {"minimax_m2", CallFormat::minimax_m2},
    {"phi4_mini_json", CallFormat::phi4_mini},
};

constexpr Named<ReasoningFormat> reasoning_names[] = {
    {"none", ReasoningFormat::none},
    {"qwen3", ReasoningFormat::think},
    {"deepseek_v3", ReasoningFormat::think},
    {"deepseek_v4", ReasoningFormat::think},
    {"glm45", ReasoningFormat::think},
    {"glm47", ReasoningFormat::think},
    {"kimi_k2", ReasoningFormat::think},
    {"nemotron_v3", ReasoningFormat::think},
    {"mimo", ReasoningFormat::think},
    {"deepseek_r1", ReasoningFormat::think_at_start},
    {"minimax_m2", ReasoningFormat::think_at_start},
    {"mistral", ReasoningFormat::think_brackets},
    {"minimax_m3", ReasoningFormat::minimax_m3},
    {"openai_gptoss", ReasoningFormat::harmony},
};

template <class Format, size_t count>
Format by_name(const Named<Format> (&names)[count], std::string_view name, const char* flag) {
  std::vector<std::string_view> known;
  for (const auto& [other, format] : names) {
    if (other == name) return format;
    known.push_back(other);
  }
  throw_bad_input(fmt::format("{}: no parser is called \"{:.60}\"", flag, name),
                  fmt::format("the parsers are {}", fmt::join(known, ", ")), flag);
}

template <class Format, size_t count>
std::string_view name_of(const Named<Format> (&names)[count], Format wanted) {
  for (const auto& [name, format] : names) {
    if (format == wanted) return name;
  }
  check_failed("every format has a name", __FILE__, __LINE__);
}

template <class Format, size_t count>
std::vector<std::string_view> all_names(const Named<Format> (&names)[count]) {
  std::vector<std::string_view> all;
  for (const auto& named : names) all.push_back(named.name);
  return all;
}

}  // namespace

CallFormat call_format(std::string_view name) {
  return by_name(call_names, name, "--tool-parser");
}
ReasoningFormat reasoning_format(std::string_view name) {
  return by_name(reasoning_names, name, "--reasoning-parser");
}
std::string_view to_string(CallFormat format) {
  return name_of(call_names, format);
}
std::string_view to_string(ReasoningFormat format) {
  return name_of(reasoning_names, format);
}
std::vector<std::string_view> call_format_names() {
  return all_names(call_names);
}
std::vector<std::string_view> reasoning_format_names() {
  return all_names(reasoning_names);
}

}  // namespace dure
