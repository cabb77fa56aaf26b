// Calls of Mistral and of Phi-4: a marker and a list of JSON objects. From tokenizer version 11 on,
// Mistral writes the name in front of the arguments instead: [TOOL_CALLS]f[ARGS]{...}, with
// [CALL_ID] and an id in between in some versions, without [ARGS] in others.
#include "dialogue/call_object.h"
#include "dialogue/call_syntaxes.h"
#include "dialogue/json_reading.h"

namespace dure::dialogue {
namespace {

constexpr std::string_view id_mark = "[CALL_ID]";
constexpr std::string_view arguments_mark = "[ARGS]";

// From the first object or the closing bracket on.
Parsing<bool> read_list(Reading& r) {
  for (bool any = false;; any = true) {
    co_await skip_space(r);
    int byte = co_await r.in.peek();
    if (byte == ',' && any) {
      co_await r.in.take();
      co_await skip_space(r);
      byte = co_await r.in.peek();
    }
    if (byte == Source::end) co_return any;
    if (byte == ']') {
      co_await r.in.take();
      co_return any;
    }
    if (byte != '{') co_return false;
    co_await r.in.take();
    const ObjectEnd end = co_await read_call_object(r, {.marked = true, .stops = {}});
    if (end == ObjectEnd::no_call) co_return false;
  }
}

// From behind the name on; the arguments' first byte is next.
Parsing<bool> read_named(Reading& r, const std::string& name, const std::string& id) {
  co_await skip_space(r);
  if (co_await r.in.peek() != '{') co_return false;
  r.announce(name, id);
  const bool whole = co_await copy_value(r, nullptr);
  if (whole || co_await r.in.peek() != Source::end) r.end_call();
  co_return true;
}

Parsing<bool> read_mistral(Reading& r, std::string_view) {
  co_await skip_space(r);
  const int byte = co_await r.in.peek();
  if (byte == '[') {
    co_await r.in.take();
    co_return co_await read_list(r);
  }
  if (byte == '{') {
    co_await r.in.take();
    const ObjectEnd end = co_await read_call_object(r, {.marked = true, .stops = {}});
    co_return end != ObjectEnd::no_call;
  }
  std::string name;
  if (!co_await read_name(r, name)) co_return false;
  std::string id;
  if (co_await r.in.peek() == '[') {
    co_await r.in.take();
    const bool with_id = co_await r.in.peek() == 'C';
    const std::string_view mark = with_id ? id_mark : arguments_mark;
    if (!co_await take_literal(r, mark.substr(1))) co_return false;
    if (with_id) {
      if (!co_await read_name(r, id)) co_return false;
      if (!co_await take_literal(r, arguments_mark)) co_return false;
    }
  }
  co_return co_await read_named(r, name, id);
}

Parsing<bool> read_phi4(Reading& r, std::string_view) {
  co_return co_await read_list(r);
}

}  // namespace

CallSyntax mistral_calls() {
  return {.openers = {{.marker = {"[TOOL_CALLS]"}, .ends_reasoning = true}}, .read = read_mistral};
}

CallSyntax phi4_calls() {
  return {.openers = {{.marker = {"functools["}}}, .read = read_phi4};
}

}  // namespace dure::dialogue
