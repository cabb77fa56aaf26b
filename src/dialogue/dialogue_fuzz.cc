// An answer in any format, cut in any way: says the same as in one piece, loses nothing where there
// is nothing but content, and its arguments are JSON where the format makes them so.
//   byte 0: the format; byte 1: the reasoning, whether the prompt opened it, whether it was cut
//   off; bytes 2-7: where the text is cut; then the text.
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/utf8.h"
#include "dialogue/answer_parser.h"

namespace {

using namespace dure;
using Kind = AnswerDelta::Kind;

constexpr size_t head = 8;

bool is_text(const AnswerDelta& delta) {
  return delta.kind != Kind::call && delta.kind != Kind::call_end;
}

void add(std::vector<AnswerDelta>& all, const std::vector<AnswerDelta>& deltas) {
  for (const AnswerDelta& delta : deltas) {
    DURE_CHECK(utf8::first_invalid(delta.text) == delta.text.size());
    const bool more = is_text(delta) && !all.empty() && all.back().kind == delta.kind &&
                      all.back().index == delta.index;
    if (more) {
      all.back().text += delta.text;
    } else {
      all.push_back(delta);
    }
  }
}

// Pieces of whole characters, their lengths from the six bytes in turn; 0 stands for all at once.
std::vector<AnswerDelta> read(const AnswerOptions& options, std::string_view text,
                              std::string_view lengths, bool cut) {
  AnswerParser parser(options);
  std::vector<AnswerDelta> all;
  for (size_t at = 0, turn = 0; at < text.size(); ++turn) {
    const auto wanted = lengths.empty()
                            ? size_t{0}
                            : static_cast<uint8_t>(lengths[turn % lengths.size()]) % size_t{24};
    size_t to = at;
    for (size_t i = 0; to < text.size() && (wanted == 0 || i < wanted); ++i) {
      to += utf8::length(text[to]);
    }
    add(all, parser.push(text.substr(at, to - at)));
    at = to;
  }
  add(all, parser.finish(cut));
  return all;
}

std::vector<Tool> tools() {
  const Json schema = parse_json(R"({"properties": {"s": {"type": "string"},
      "i": {"type": "integer"}, "o": {"type": ["object", "null"]}, "b": {"type": "boolean"}}})",
                                 "tools");
  return {{.name = "f", .parameters = std::make_shared<const Json>(schema)}};
}

// Formats whose arguments are written by the parser, not by the model.
bool makes_json(CallFormat format) {
  return format == CallFormat::qwen3_coder || format == CallFormat::glm ||
         format == CallFormat::minimax_m2 || format == CallFormat::deepseek_dsml;
}

void check_calls(const std::vector<AnswerDelta>& deltas, CallFormat format, bool cut) {
  int calls = 0;
  bool open = false;
  std::string arguments;
  for (const AnswerDelta& delta : deltas) {
    switch (delta.kind) {
      case Kind::call:
        DURE_CHECK(!open && delta.index == calls && !delta.name.empty() && !delta.id.empty());
        ++calls;
        open = true;
        arguments.clear();
        break;
      case Kind::arguments:
        DURE_CHECK(open && delta.index == calls - 1);
        arguments += delta.text;
        break;
      case Kind::call_end:
        DURE_CHECK(open && delta.index == calls - 1 && !arguments.empty());
        open = false;
        // A call that the end of the answer ended need not be whole.
        if (makes_json(format) && cut) {
          parse_json(arguments, "arguments", {.allow_duplicate_keys = true});
        }
        break;
      default:
        break;
    }
  }
  DURE_CHECK(!open || cut);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < head) return -1;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::vector<std::string_view> formats = call_format_names();
  const std::vector<std::string_view> reasonings = reasoning_format_names();
  AnswerOptions options;
  options.format.calls = call_format(formats[data[0] % formats.size()]);
  options.format.reasoning = reasoning_format(reasonings[data[1] % 32 % reasonings.size()]);
  const bool thinks = options.format.reasoning != ReasoningFormat::none;
  options.starts_in_reasoning = thinks && (data[1] & 64) != 0;
  options.tools = tools();
  options.id_seed = "fuzz";
  const bool cut = (data[1] & 128) != 0;
  // A decoder hands out whole characters.
  const std::string text = utf8::repaired(input.substr(head));

  const std::vector<AnswerDelta> whole = read(options, text, "", cut);
  DURE_CHECK(read(options, text, input.substr(2, 6), cut) == whole);
  DURE_CHECK(read(options, text, "\x01", cut) == whole);
  check_calls(whole, options.format.calls, cut);
  if (options.format == AnswerFormat{}) {
    DURE_CHECK(text.empty() ? whole.empty() : whole.size() == 1 && whole[0].text == text);
  }
  return 0;
}
