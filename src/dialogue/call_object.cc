// See call_object.h.
#include "dialogue/call_object.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "dialogue/json_reading.h"

namespace dure::dialogue {
namespace {

// What is known of a call that is not announced yet.
struct Found {
  std::string name;
  std::string id;
  std::string arguments;  // that came before the name, as they are
  bool announced = false;
};

bool is_arguments(std::string_view key) {
  return key == "arguments" || key == "parameters";
}
// Some models write {"type": "function", "function": NAME, ...}.
bool is_name_key(std::string_view key) {
  return key == "name" || key == "function";
}

// The call's arguments, from the first byte of the value on. False where they are broken off.
Parsing<bool> read_arguments(Reading& r) {
  const int byte = co_await r.in.peek();
  if (byte == '"') {
    co_await r.in.take();
    co_return co_await arguments_from_string(r);
  }
  if (byte == 'n') {  // null: no arguments
    std::string word;
    const bool whole = co_await copy_value(r, &word);
    if (word != "null") r.out.arguments(word);
    co_return whole;
  }
  co_return co_await copy_value(r, nullptr);
}

// Text of a complete JSON value as arguments: what a string says, nothing for null.
std::string arguments_of(const std::string& value) {
  if (value == "null") return "";
  if (!value.starts_with('"')) return value;
  try {
    return parse_json(value, "arguments").get<std::string>();
  } catch (const Error&) {
    return value;
  }
}

Parsing<ObjectEnd> read_value_of(Reading& r, const ObjectRules& rules, const std::string& key,
                                 Found& found) {
  if (co_await r.in.peek() == Source::end) co_return ObjectEnd::no_call;
  if (is_arguments(key) && !found.announced && !found.name.empty()) {
    r.announce(found.name, found.id);
    found.announced = true;
    if (co_await read_arguments(r)) {
      r.end_call();
      co_return ObjectEnd::complete;
    }
    if (co_await r.in.peek() == Source::end) co_return ObjectEnd::stopped;
    if (rules.stops.empty()) {
      r.end_call();
      co_return ObjectEnd::stopped;
    }
    if (co_await arguments_until(r, rules.stops) >= 0) r.end_call();
    co_return ObjectEnd::stopped;
  }
  std::string value;
  if (is_name_key(key) && found.name.empty() && co_await r.in.peek() == '"') {
    co_await r.in.take();
    const bool whole = co_await read_string(r, found.name);
    co_return whole&& is_name(found.name) ? ObjectEnd::complete : ObjectEnd::no_call;
  }
  if (!co_await copy_value(r, &value)) co_return ObjectEnd::no_call;
  if (is_arguments(key) && !found.announced) {
    found.arguments = value;
  } else if (key == "id" && value.starts_with('"')) {
    found.id = arguments_of(value);
  } else if (!rules.marked && !found.announced && key != "type") {
    co_return ObjectEnd::no_call;
  }
  co_return ObjectEnd::complete;
}

}  // namespace

Parsing<ObjectEnd> read_call_object(Reading& r, ObjectRules rules) {
  Found found;
  for (bool first = true;; first = false) {
    co_await skip_space(r);
    int byte = co_await r.in.peek();
    if (byte == ',' && !first) {
      co_await r.in.take();
      co_await skip_space(r);
      byte = co_await r.in.peek();
    } else if (byte != '}' && !first) {
      break;
    }
    if (byte == '}') {
      co_await r.in.take();
      if (found.announced) {
        r.in.record();  // what comes behind the object
        co_return ObjectEnd::complete;
      }
      if (found.name.empty()) break;
      if (found.arguments.empty() && !rules.marked) break;
      r.announce(found.name, found.id);
      r.out.arguments(arguments_of(found.arguments));
      r.end_call();
      co_return ObjectEnd::complete;
    }
    if (byte != '"') break;
    co_await r.in.take();
    std::string key;
    if (!co_await read_string(r, key)) break;
    co_await skip_space(r);
    if (co_await r.in.peek() != ':') break;
    co_await r.in.take();
    co_await skip_space(r);
    const ObjectEnd end = co_await read_value_of(r, rules, key, found);
    if (end == ObjectEnd::stopped) co_return end;
    if (end == ObjectEnd::no_call) break;
  }
  co_return found.announced ? ObjectEnd::complete : ObjectEnd::no_call;
}

}  // namespace dure::dialogue
