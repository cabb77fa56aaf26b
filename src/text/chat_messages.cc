// The server's rules for messages, and those of the reference library.
#include "text/chat_messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "text/jinja_json.h"
#include "text/letter_hash.h"

namespace dure {
namespace {

using jinja::Kind;
using jinja::SequenceKind;
using jinja::Value;
using Entries = std::vector<std::pair<Value, Value>>;

Value* find(Entries& entries, std::string_view key) {
  for (auto& [name, value] : entries) {
    if (name.bytes() == key) return &value;
  }
  return nullptr;
}

void put(Entries& entries, std::string_view key, Value value) {
  if (Value* old = find(entries, key)) {
    *old = std::move(value);
  } else {
    entries.emplace_back(Value::text(std::string(key)), std::move(value));
  }
}

void drop(Entries& entries, std::string_view key) {
  std::erase_if(entries, [&](const auto& entry) { return entry.first.bytes() == key; });
}

bool is_empty_list(const Value& value) {
  return value.is(Kind::sequence) && value.as_sequence().items.empty();
}

// A list of nothing but text parts as one text; anything else stays.
Value join_text_parts(const Value& content) {
  if (!content.is(Kind::sequence)) return content;
  std::string joined;
  bool first = true;
  for (const Value& part : content.as_sequence().items) {
    if (!part.is(Kind::dict)) return content;
    const Value* type = part.as_dict().find("type");
    const Value* text = part.as_dict().find("text");
    const bool is_text = type && type->is_string() && type->bytes() == "text";
    if (!is_text || !text || !text->is_string()) return content;
    if (!first) joined += '\n';
    first = false;
    joined += text->bytes();
  }
  return Value::text(std::move(joined));
}

// Arguments in the form the template wants: the value that JSON text stands for, or the text.
Value convert_arguments(const Value& arguments, bool as_text) {
  if (as_text) {
    if (arguments.is_string()) return arguments.bytes().empty() ? Value::text("{}") : arguments;
    jinja::Budget budget{jinja::Limits{}};
    return Value::text(jinja::to_json(budget, arguments, {}));
  }
  if (!arguments.is_string()) return arguments;
  if (arguments.bytes().empty()) return Value::dict({});
  // Text that is no JSON stays text: a template that wants a value will say so.
  return jinja::parse_json_value(arguments.bytes()).value_or(arguments);
}

// Ids as Mistral's templates want them: nine letters or digits. Others become such, the same ones
// wherever they stand.
Value short_id(const Value& id) {
  constexpr size_t length = 9;
  if (!id.is_string()) return id;
  const auto is_letter = [](char byte) {
    return (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= 'a' && byte <= 'z');
  };
  const std::string& text = id.bytes();
  const bool fits = text.size() == length && std::all_of(text.begin(), text.end(), is_letter);
  return fits ? id : Value::text(letter_hash(text, length));
}

Value convert_call(const Value& call, const MessageRules& rules) {
  if (!call.is(Kind::dict)) return call;
  const Value* function = call.as_dict().find("function");
  if (!function || !function->is(Kind::dict)) return call;
  Entries changed = function->as_dict().entries;
  const Value* given = find(changed, "arguments");
  if (rules.fill_arguments && (!given || given->is_none())) {
    put(changed, "arguments", Value::text(""));
  }
  if (Value* arguments = find(changed, "arguments")) {
    *arguments = convert_arguments(*arguments, rules.tool_calls.text_arguments);
  }
  Entries entries = call.as_dict().entries;
  Value* id = find(entries, "id");
  if (rules.tool_calls.short_ids && id) *id = short_id(*id);
  put(entries, "function", Value::dict(std::move(changed)));
  return Value::dict(std::move(entries));
}

void apply_server_rules(Entries& message, const MessageRules& rules) {
  Value* content = find(message, "content");
  if (rules.fill_content && (!content || content->is_none())) {
    put(message, "content", Value::text(""));
  } else if (rules.join_parts && content) {
    *content = join_text_parts(*content);
  }
  Value* answered = find(message, "tool_call_id");
  if (rules.tool_calls.short_ids && answered) *answered = short_id(*answered);
  Value* calls = find(message, "tool_calls");
  if (!calls) return;
  if (calls->is_none() || is_empty_list(*calls)) {
    if (rules.drop_empty_calls) drop(message, "tool_calls");
    return;
  }
  if (rules.convert_arguments && calls->is(Kind::sequence)) {
    std::vector<Value> converted;
    for (const Value& call : calls->as_sequence().items) {
      converted.push_back(convert_call(call, rules));
    }
    *calls = Value::sequence(std::move(converted));
  }
  content = find(message, "content");
  const bool empty = content && content->is_string() && content->bytes().empty();
  if (rules.tool_calls.null_content && empty) *content = Value();
}

// The reference library's preparation; null content that a template wants is kept.
void apply_reference_rules(Entries& message, bool keep_null_content) {
  std::erase_if(message, [&](const auto& entry) {
    return entry.second.is_none() && !(keep_null_content && entry.first.bytes() == "content");
  });
  for (const std::string_view key : {"reasoning_content", "thinking", "reasoning"}) {
    if (const Value* found = find(message, key)) {
      const Value reasoning = *found;
      put(message, "reasoning_content", reasoning);
      if (!find(message, "thinking")) put(message, "thinking", reasoning);
      break;
    }
  }
}

}  // namespace

MessageRules rules_of(MessageForm form, const ToolCallForm& fitting) {
  MessageRules rules;
  if (form == MessageForm::unchanged) return rules;
  rules.reference = true;
  if (form == MessageForm::reference) return rules;
  rules.fill_content = rules.join_parts = true;
  rules.drop_empty_calls = rules.convert_arguments = true;
  if (form == MessageForm::fitting) {
    rules.tool_calls = fitting;
    rules.fill_arguments = true;
  }
  return rules;
}

Value prepare_messages(const Json& messages, const MessageRules& rules) {
  std::vector<Value> prepared;
  const Value sent = jinja::from_json(messages);
  for (const Value& message : sent.as_sequence().items) {
    Entries entries = message.as_dict().entries;
    apply_server_rules(entries, rules);
    if (rules.reference) apply_reference_rules(entries, rules.tool_calls.null_content);
    prepared.push_back(Value::dict(std::move(entries)));
  }
  return Value::sequence(std::move(prepared));
}

Value mark_final_message(const Value& messages, const std::string& mark) {
  std::vector<Value> all = messages.as_sequence().items;
  if (all.empty()) jinja::fail_value("there is no message to continue");
  Entries entries = all.back().as_dict().entries;
  Value* content = find(entries, "content");
  const auto marked = [&](const Value& text) { return Value::text(text.bytes() + mark); };
  bool done = false;
  if (content && content->is_string()) {
    *content = marked(*content);
    done = true;
  } else if (content && content->is(Kind::sequence)) {
    std::vector<Value> parts = content->as_sequence().items;
    for (size_t i = parts.size(); i-- > 0 && !done;) {
      if (!parts[i].is(Kind::dict)) continue;
      Entries part = parts[i].as_dict().entries;
      Value* text = find(part, "text");
      if (!text || !text->is_string()) continue;
      *text = marked(*text);
      parts[i] = Value::dict(std::move(part));
      done = true;
    }
    *content = Value::sequence(std::move(parts));
  }
  if (!done) jinja::fail_value("the last message has no text to continue");
  all.back() = Value::dict(std::move(entries));
  return Value::sequence(std::move(all));
}

}  // namespace dure
