// Calls of GLM-4.5 and later: the name, then keys and values as elements in turn, with line breaks
// between them or without.
#include "dialogue/call_syntaxes.h"
#include "dialogue/parameters.h"

namespace dure::dialogue {
namespace {

constexpr std::string_view open = "<tool_call>";
constexpr std::string_view close = "</tool_call>";
constexpr Marker next[] = {{"<arg_key>"}, {close}};
constexpr Marker key_end[] = {{"</arg_key>"}};
constexpr Marker value_open[] = {{"<arg_value>"}, {"<arg_key>"}, {close}};
constexpr Marker value_end[] = {{"</arg_value>"}};

// One parameter from behind <arg_key> on. The number of `next` that was taken behind it.
Parsing<int> read_parameter(Reading& r, ArgumentsWriter& arguments, const std::string& name,
                            std::string& stray) {
  std::string key;
  if (co_await read_until(r, key_end, key) < 0) co_return answer_over;
  key = std::string(trimmed(key));
  const int found = co_await read_until(r, value_open, stray);
  if (found < 0) co_return answer_over;
  arguments.key(key);
  if (found > 0) {  // a key without a value
    arguments.value("null");
    co_return found - 1;
  }
  const ParameterTypes types = types_of(r.tools, name, key);
  if (co_await write_value(r, arguments, types, value_end) < 0) co_return answer_over;
  co_return co_await read_until(r, next, stray);
}

Parsing<bool> read_glm(Reading& r, std::string_view) {
  co_await skip_space(r);
  std::string name;
  if (!co_await read_name(r, name)) co_return false;
  // Only now it is a call: a name alone may be a word of a sentence about calls.
  int found = co_await take_one_of(r, next);
  if (found < 0) co_return false;
  r.announce(name);
  ArgumentsWriter arguments(r.out);
  std::string stray;
  while (found == 0) found = co_await read_parameter(r, arguments, name, stray);
  if (found < 0) co_return true;
  arguments.close();
  r.end_call();
  r.out.content(trimmed(stray));
  co_return true;
}

}  // namespace

CallSyntax glm_calls() {
  return {.openers = {{.marker = {open}}}, .read = read_glm};
}

}  // namespace dure::dialogue
