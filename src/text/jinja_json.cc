// Writing values as Python's json.dumps does.
#include "text/jinja_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "text/jinja_object.h"
#include "text/jinja_ops.h"
#include "text/python_unicode.h"

namespace dure::jinja {
namespace {

class Writer {
 public:
  Writer(Budget& budget, const JsonStyle& style) : budget_(budget), style_(style) {}

  std::string take() { return std::move(out_); }

  void write(const Value& value) {
    const Budget::Level level(budget_);
    budget_.step();
    switch (value.kind()) {
      case Kind::none:
        out_ += "null";
        break;
      case Kind::boolean:
        out_ += value.as_boolean() ? "true" : "false";
        break;
      case Kind::integer:
        out_ += std::to_string(value.as_integer());
        break;
      case Kind::big:
        out_ += value.as_big().to_string();
        break;
      case Kind::real:
        out_ += number(value.as_real());
        break;
      case Kind::text:
        if (!value.is_string()) refuse(value);
        write_text(value.bytes());
        break;
      case Kind::sequence:
        write_list(value);
        break;
      case Kind::dict:
        write_dict(value.as_dict());
        break;
      case Kind::undefined:
      case Kind::object:
        refuse(value);
    }
    budget_.check_text(out_.size());
  }

 private:
  [[noreturn]] static void refuse(const Value& value) {
    fail_type(fmt::format("Object of type {} is not JSON serializable", type_name(value)));
  }

  static std::string number(double value) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
    return py_repr(value);
  }

  void new_line() {
    if (!style_.indent) return;
    budget_.step_text(style_.indent->size() * static_cast<size_t>(level_));
    budget_.check_text(out_.size() + style_.indent->size() * static_cast<size_t>(level_));
    out_ += '\n';
    for (int i = 0; i < level_; ++i) out_ += *style_.indent;
  }

  void write_list(const Value& value) {
    if (!value.is_sequence(SequenceKind::list) && !value.is_sequence(SequenceKind::tuple) &&
        !value.is_sequence(SequenceKind::group)) {
      refuse(value);
    }
    const auto& items = value.as_sequence().items;
    if (items.empty()) {
      out_ += "[]";
      return;
    }
    out_ += '[';
    ++level_;
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out_ += style_.item_separator;
      new_line();
      write(items[i]);
    }
    --level_;
    new_line();
    out_ += ']';
  }

  void write_dict(const Dict& dict) {
    if (dict.entries.empty()) {
      out_ += "{}";
      return;
    }
    std::vector<const std::pair<Value, Value>*> entries;
    for (const auto& entry : dict.entries) entries.push_back(&entry);
    if (style_.sort_keys) {
      std::stable_sort(entries.begin(), entries.end(), [&](const auto* a, const auto* b) {
        return ordered(budget_, a->first, b->first, Order::less);
      });
    }
    out_ += '{';
    ++level_;
    for (size_t i = 0; i < entries.size(); ++i) {
      if (i > 0) out_ += style_.item_separator;
      new_line();
      write_text(key_text(entries[i]->first));
      out_ += style_.key_separator;
      write(entries[i]->second);
    }
    --level_;
    new_line();
    out_ += '}';
  }

  std::string key_text(const Value& key) const {
    switch (key.kind()) {
      case Kind::text:
        if (key.is_string()) return key.bytes();
        break;
      case Kind::none:
        return "null";
      case Kind::boolean:
        return key.as_boolean() ? "true" : "false";
      case Kind::integer:
        return std::to_string(key.as_integer());
      case Kind::big:
        return key.as_big().to_string();
      case Kind::real:
        return number(key.as_real());
      default:
        break;
    }
    fail_type("keys must be str, int, float, bool or None, not " + type_name(key));
  }

  void write_text(std::string_view text) {
    budget_.step_text(text.size());
    out_ += '"';
    for (size_t i = 0; i < text.size();) {
      const unsigned char c = static_cast<unsigned char>(text[i]);
      if (c >= 0x20 && c < 0x7F && c != '"' && c != '\\') {
        out_ += text[i++];
        continue;
      }
      const CodePoint point = code_point_at(text, i);
      if (const char* escape = short_escape(point.code)) {
        out_ += escape;
      } else if (point.code < 0x20 || style_.ensure_ascii) {
        escape_units(point.code);
      } else {
        out_ += text.substr(i, point.bytes);
      }
      i += point.bytes;
    }
    out_ += '"';
  }

  static const char* short_escape(uint32_t code) {
    switch (code) {
      case '"':
        return "\\\"";
      case '\\':
        return "\\\\";
      case '\n':
        return "\\n";
      case '\r':
        return "\\r";
      case '\t':
        return "\\t";
      case '\b':
        return "\\b";
      case '\f':
        return "\\f";
      default:
        return nullptr;
    }
  }

  void escape_units(uint32_t code) {
    if (code < 0x10000) {
      out_ += fmt::format("\\u{:04x}", code);
    } else {
      out_ += fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + ((code - 0x10000) >> 10),
                          0xDC00 + ((code - 0x10000) & 0x3FF));
    }
  }

  Budget& budget_;
  const JsonStyle& style_;
  int level_ = 0;
  std::string out_;
};

}  // namespace

std::string to_json(Budget& budget, const Value& value, const JsonStyle& style) {
  Writer writer(budget, style);
  writer.write(value);
  return writer.take();
}

}  // namespace dure::jinja
