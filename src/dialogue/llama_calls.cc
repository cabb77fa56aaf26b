// Calls of Llama 3: a JSON object, by itself at the beginning of a line or behind <|python_tag|>,
// several of them parted by semicolons; or <function=f>{...}</function>. Code for the model's own
// interpreter behind <|python_tag|> is no call of a client's tool: it stays content.
#include "dialogue/call_object.h"
#include "dialogue/call_syntaxes.h"
#include "dialogue/json_reading.h"

namespace dure::dialogue {
namespace {

constexpr std::string_view python_tag = "<|python_tag|>";
constexpr std::string_view function_open = "<function=";
constexpr std::string_view function_close = "</function>";
constexpr Marker function_stops[] = {{function_close}};

Parsing<bool> read_function(Reading& r) {
  std::string name;
  if (!co_await read_name(r, name)) co_return false;
  if (!co_await take_literal(r, ">")) co_return false;
  co_await skip_space(r);
  if (co_await r.in.peek() != '{') co_return false;
  r.announce(name);
  if (!co_await copy_value(r, nullptr)) {
    if (co_await arguments_until(r, function_stops) >= 0) r.end_call();
    co_return true;
  }
  r.end_call();
  co_await skip_space(r);
  co_return co_await take_literal(r, function_close);
}

// Takes a semicolon and the opening brace of the next object.
Parsing<bool> next_object(Reading& r) {
  for (const char wanted : {';', '{'}) {
    co_await skip_space(r);
    const int byte = co_await r.in.peek();
    if (byte != wanted) co_return false;
    co_await r.in.take();
  }
  co_return true;
}

Parsing<bool> read_llama(Reading& r, std::string_view opener) {
  if (opener == function_open) co_return co_await read_function(r);
  if (opener == python_tag) {
    co_await skip_space(r);
    if (co_await r.in.peek() != '{') co_return false;
    co_await r.in.take();
  }
  for (bool more = true; more;) {
    const ObjectEnd end = co_await read_call_object(r, {.marked = false, .stops = {}});
    if (end == ObjectEnd::no_call) co_return false;
    more = co_await next_object(r);
  }
  // A semicolon at the very end parts nothing from nothing.
  co_return co_await r.in.peek() == Source::end;
}

}  // namespace

CallSyntax llama_calls() {
  return {.openers = {{.marker = {python_tag}},
                      {.marker = {function_open}},
                      {.marker = {.text = "{", .opens_line = true}}},
          .read = read_llama};
}

}  // namespace dure::dialogue
