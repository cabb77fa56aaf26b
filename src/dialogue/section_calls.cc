// Calls of DeepSeek and of Kimi: a section of calls, each with a head that names the function and
// arguments up to a closing token. Arguments that are no JSON stay text.
//   DeepSeek V3, R1: BEGIN function SEP f \n```json\n {...} \n``` END
//   DeepSeek V3.1:   BEGIN f SEP {...} END
//   Kimi K2:         BEGIN functions.f:0 SEP {...} END, where the head is the call's id as well
#include "dialogue/call_syntaxes.h"
#include "dialogue/json_reading.h"

namespace dure::dialogue {
namespace {

struct Section {
  std::string_view open, close;
  std::string_view call_open, separator;
  std::span<const Marker> call_ends;  // in front of the first there may be the fence's end
};

constexpr Marker deepseek_ends[] = {{"\n```<｜tool▁call▁end｜>"},
                                    {"```<｜tool▁call▁end｜>"},
                                    {"\n<｜tool▁call▁end｜>"},
                                    {"<｜tool▁call▁end｜>"}};
constexpr Section deepseek = {"<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>",
                              "<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", deepseek_ends};

constexpr Marker kimi_ends[] = {{"<|tool_call_end|>"}};
constexpr Section kimi = {"<|tool_calls_section_begin|>", "<|tool_calls_section_end|>",
                          "<|tool_call_begin|>", "<|tool_call_argument_begin|>", kimi_ends};

struct Head {
  std::string name;
  std::string id;
};

// functions.f:0
Head kimi_head(std::string_view text) {
  constexpr std::string_view prefix = "functions.";
  Head head;
  std::string_view name = text;
  if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  const size_t colon = name.rfind(':');
  if (colon != std::string_view::npos && colon + 1 < name.size() &&
      name.find_first_not_of("0123456789", colon + 1) == std::string_view::npos) {
    head.id = text;
    name = name.substr(0, colon);
  }
  head.name = name;
  return head;
}

// Behind "function SEP": the name on a line of its own, then the fence.
Parsing<bool> deepseek_v3_head(Reading& r, Head& head) {
  head.name.clear();
  if (!co_await read_name(r, head.name)) co_return false;
  co_await skip_space(r);
  if (co_await r.in.peek() != '`') co_return true;
  if (!co_await take_literal(r, "```")) co_return false;
  std::string language;
  co_await read_name(r, language);
  co_await skip_space(r);
  co_return true;
}

// The arguments and the end of the call. Inside a string no marker counts; what is no JSON is text
// up to the next marker.
Parsing<bool> section_arguments(Reading& r, const Section& section) {
  if (co_await r.in.peek() == '{' && co_await copy_value(r, nullptr)) {
    std::string behind;
    // What follows complete arguments is theirs too if it is not white space.
    if (co_await read_until(r, section.call_ends, behind) < 0) co_return true;
    if (!trimmed(behind).empty()) r.out.arguments(behind);
    r.end_call();
    co_return true;
  }
  if (co_await arguments_until(r, section.call_ends) >= 0) r.end_call();
  co_return true;
}

Parsing<bool> read_call(Reading& r, const Section& section) {
  std::string text;
  co_await skip_space(r);
  if (!co_await read_name(r, text)) co_return false;
  co_await skip_space(r);
  if (!co_await take_literal(r, section.separator)) co_return false;
  Head head{text, ""};
  if (section.open == kimi.open) {
    head = kimi_head(text);
  } else if (text == "function" && co_await r.in.peek() != '{') {
    if (!co_await deepseek_v3_head(r, head)) co_return false;
  }
  co_await skip_space(r);
  if (co_await r.in.peek() == Source::end || head.name.empty()) co_return false;
  r.announce(head.name, head.id);
  co_return co_await section_arguments(r, section);
}

Parsing<bool> read_section(Reading& r, const Section& section, std::string_view opener) {
  if (opener == section.open) {
    co_await skip_space(r);
    if (!co_await take_literal(r, section.call_open)) co_return false;
  }
  const Marker next[] = {{section.call_open}, {section.close}};
  for (;;) {
    if (!co_await read_call(r, section)) co_return false;
    const int found = co_await take_one_of(r, next);
    if (found != 0) co_return found != none_of_them;
  }
}

}  // namespace

CallSyntax deepseek_calls() {
  return {.openers = {{.marker = {deepseek.open}, .ends_reasoning = true},
                      {.marker = {deepseek.call_open}, .ends_reasoning = true}},
          .read = [](Reading& r, std::string_view opener) {
            return read_section(r, deepseek, opener);
          }};
}

CallSyntax kimi_calls() {
  return {
      .openers = {{.marker = {kimi.open}, .ends_reasoning = true},
                  {.marker = {kimi.call_open}, .ends_reasoning = true}},
      .read = [](Reading& r, std::string_view opener) { return read_section(r, kimi, opener); }};
}

}  // namespace dure::dialogue
