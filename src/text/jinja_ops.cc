// Truth and text form of values.
#include "text/jinja_ops.h"

#include <fmt/format.h>

#include "text/jinja_object.h"
#include "text/python_unicode.h"

namespace dure::jinja {
namespace {

void append_items(Budget& budget, std::string& out, const std::vector<Value>& items) {
  bool first = true;
  for (const Value& item : items) {
    if (!first) out += ", ";
    first = false;
    append_repr(budget, out, item);
  }
}

void append_sequence(Budget& budget, std::string& out, const Sequence& sequence) {
  switch (sequence.kind) {
    case SequenceKind::list:
      out += '[';
      append_items(budget, out, sequence.items);
      out += ']';
      return;
    case SequenceKind::tuple:
    case SequenceKind::group:
      out += '(';
      append_items(budget, out, sequence.items);
      out += sequence.items.size() == 1 ? ",)" : ")";
      return;
    case SequenceKind::range:
      out += fmt::format("range({}, {}", sequence.start, sequence.stop);
      if (sequence.step != 1) out += fmt::format(", {}", sequence.step);
      out += ')';
      return;
    case SequenceKind::keys:
      out += "dict_keys([";
      break;
    case SequenceKind::values:
      out += "dict_values([";
      break;
    case SequenceKind::items:
      out += "dict_items([";
      break;
  }
  append_items(budget, out, sequence.items);
  out += "])";
}

}  // namespace

void fail_undefined(const Value& value) {
  const Undefined& missing = value.as_undefined();
  throw JinjaError(missing.fault, missing.message);
}

bool truth(const Value& value) {
  switch (value.kind()) {
    case Kind::undefined:
    case Kind::none:
      return false;
    case Kind::boolean:
      return value.as_boolean();
    case Kind::integer:
      return value.as_integer() != 0;
    case Kind::big:
      return true;
    case Kind::real:
      return value.as_real() != 0;
    case Kind::text:
      return !value.bytes().empty();
    case Kind::sequence:
      return !value.as_sequence().items.empty();
    case Kind::dict:
      return !value.as_dict().entries.empty();
    case Kind::object:
      return true;
  }
  return false;
}

void append_str(Budget& budget, std::string& out, const Value& value) {
  if (value.is_undefined()) return;
  if (value.is_string()) {
    budget.step_text(value.bytes().size());
    out += value.bytes();
    budget.check_text(out.size());
    return;
  }
  append_repr(budget, out, value);
}

void append_repr(Budget& budget, std::string& out, const Value& value) {
  const Budget::Level level(budget);
  budget.step();
  switch (value.kind()) {
    case Kind::undefined:
      out += "Undefined";
      break;
    case Kind::none:
      out += "None";
      break;
    case Kind::boolean:
      out += value.as_boolean() ? "True" : "False";
      break;
    case Kind::integer:
      out += std::to_string(value.as_integer());
      break;
    case Kind::big:
      out += value.as_big().to_string();
      break;
    case Kind::real:
      out += py_repr(value.as_real());
      break;
    case Kind::text: {
      const Text& text = value.as_text();
      budget.step_text(text.bytes.size());
      if (text.kind == TextKind::markup) {
        out += "Markup(" + py_repr(text.bytes) + ")";
      } else {
        out += text.kind == TextKind::bytes ? py_repr_bytes(text.bytes) : py_repr(text.bytes);
      }
      break;
    }
    case Kind::sequence:
      append_sequence(budget, out, value.as_sequence());
      break;
    case Kind::dict: {
      out += '{';
      bool first = true;
      for (const auto& [key, item] : value.as_dict().entries) {
        if (!first) out += ", ";
        first = false;
        append_repr(budget, out, key);
        out += ": ";
        append_repr(budget, out, item);
      }
      out += '}';
      break;
    }
    case Kind::object:
      out += value.as_object().repr();
      break;
  }
  budget.check_text(out.size());
}

std::string to_str(Budget& budget, const Value& value) {
  std::string out;
  append_str(budget, out, value);
  return out;
}

}  // namespace dure::jinja
