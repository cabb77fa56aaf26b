// Calls of Llama 4 and others as a Python list: [f(x="a", n=1), g()], at the beginning of a line or
// between <|python_start|> and <|python_end|>. Values are literals (python_literal.h); what is no
// literal stays text.
#include "dialogue/call_syntaxes.h"
#include "dialogue/json_reading.h"
#include "dialogue/parameters.h"
#include "dialogue/python_literal.h"

namespace dure::dialogue {
namespace {

constexpr std::string_view start = "<|python_start|>";
constexpr std::string_view end = "<|python_end|>";

// Takes a value up to the comma or bracket behind it, which stays. False if the answer ends first.
Parsing<bool> read_expression(Reading& r, std::string& text) {
  int depth = 0;
  int quote = 0;
  for (bool escaped = false;;) {
    const int byte = co_await r.in.peek();
    if (byte == Source::end) co_return false;
    if (quote != 0) {
      if (byte == quote && !escaped) quote = 0;
      escaped = byte == '\\' && !escaped;
    } else if (byte == '\'' || byte == '"') {
      quote = byte;
    } else if (depth == 0 && (byte == ',' || byte == ')' || byte == ']' || byte == '}')) {
      co_return true;
    } else if (byte == '(' || byte == '[' || byte == '{') {
      ++depth;
    } else if (byte == ')' || byte == ']' || byte == '}') {
      --depth;
    }
    text += static_cast<char>(byte);
    co_await r.in.take();
  }
}

std::string value_of(const std::string& text) {
  return python_literal_as_json(text).value_or(json_quoted(text));
}

// A parameter's name and the equals sign.
Parsing<bool> read_keyword(Reading& r, std::string& key) {
  co_await skip_space(r);
  const bool named = co_await read_name(r, key);
  co_await skip_space(r);
  int byte = co_await r.in.peek();
  if (!named || byte != '=') co_return false;
  co_await r.in.take();
  co_await skip_space(r);
  byte = co_await r.in.peek();
  co_return byte != '=';  // a comparison is no parameter
}

// name(key=value, ...) with its closing bracket. A call is one as soon as its first parameter is
// named, or when it ends without any.
Parsing<bool> read_call(Reading& r) {
  std::string name;
  co_await skip_space(r);
  if (!co_await read_name(r, name)) co_return false;
  if (co_await r.in.peek() != '(') co_return false;
  co_await r.in.take();
  ArgumentsWriter arguments(r.out);
  bool announced = false;
  co_await skip_space(r);
  while (co_await r.in.peek() != ')') {
    std::string key;
    if (!co_await read_keyword(r, key)) {
      // An announced call ends where its parameters do.
      if (announced && co_await r.in.peek() != Source::end) {
        arguments.close();
        r.end_call();
      }
      co_return false;
    }
    if (!announced) r.announce(name);
    announced = true;
    arguments.key(key);
    std::string text;
    const bool ended = co_await read_expression(r, text);
    if (ended || !r.cut) arguments.value(value_of(text));
    if (!ended) co_return true;
    if (co_await r.in.peek() == ',') {
      co_await r.in.take();
      co_await skip_space(r);
    }
  }
  co_await r.in.take();
  if (!announced) {
    // f() may also be text in brackets: "[see f() for this]".
    co_await skip_space(r);
    const int byte = co_await r.in.peek();
    if (byte != ',' && byte != ']') co_return false;
    r.announce(name);
  }
  arguments.close();
  r.end_call();
  co_return true;
}

Parsing<bool> read_pythonic(Reading& r, std::string_view opener) {
  if (opener == start) {
    co_await skip_space(r);
    if (co_await r.in.peek() != '[') co_return false;
    co_await r.in.take();
  }
  for (;;) {
    if (!co_await read_call(r)) co_return false;
    if (!co_await skip_space(r)) co_return true;
    const int byte = co_await r.in.peek();
    if (byte != ',' && byte != ']') co_return false;
    co_await r.in.take();
    if (byte == ']') break;
  }
  if (opener != start) co_return true;
  co_await skip_space(r);
  co_return co_await take_literal(r, end);
}

}  // namespace

CallSyntax pythonic_calls() {
  return {.openers = {{.marker = {start}}, {.marker = {.text = "[", .opens_line = true}}},
          .read = read_pythonic};
}

}  // namespace dure::dialogue
