// Calls of Hermes, Qwen2.5 and Qwen3: a JSON object between <tool_call> and </tool_call>. Several
// objects between one pair are taken too.
#include "dialogue/call_object.h"
#include "dialogue/call_syntaxes.h"

namespace dure::dialogue {
namespace {

constexpr std::string_view close = "</tool_call>";
constexpr Marker stops[] = {{close}};

Parsing<bool> read_tagged(Reading& r, std::string_view) {
  for (bool first = true;; first = false) {
    co_await skip_space(r);
    const int byte = co_await r.in.peek();
    if (byte == Source::end) co_return !first;
    if (byte != '{') {
      if (first) co_return false;
      co_return co_await take_literal(r, close);
    }
    co_await r.in.take();
    const ObjectEnd end = co_await read_call_object(r, {.marked = true, .stops = stops});
    if (end == ObjectEnd::no_call) co_return false;
    if (end == ObjectEnd::stopped) co_return true;
  }
}

}  // namespace

CallSyntax hermes_calls() {
  return {.openers = {{.marker = {"<tool_call>"}}}, .read = read_tagged};
}

}  // namespace dure::dialogue
