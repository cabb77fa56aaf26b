// "...".format(...) and the mini-language of its fields.
#include "text/python_format.h"

#include <fmt/format.h>

#include <cmath>

#include "base/utf8.h"
#include "text/jinja_interpreter.h"
#include "text/jinja_ops.h"
#include "text/python_unicode.h"

namespace dure::jinja {
namespace {

constexpr size_t max_width = 1'000'000;

struct Spec {
  std::string fill = " ";
  char align = 0;  // < > ^ =
  bool zero = false;
  size_t width = 0;
  NumberLayout number;
};

class SpecReader {
 public:
  explicit SpecReader(std::string_view text) : text_(text) {}

  Spec read() {
    Spec spec;
    if (!text_.empty()) {
      const size_t first = code_point_at(text_, 0).bytes;
      if (first < text_.size() && is_align(text_[first])) {
        spec.fill = std::string(text_.substr(0, first));
        spec.align = text_[first];
        at_ = first + 1;
      } else if (is_align(text_[0])) {
        spec.align = text_[0];
        at_ = 1;
      }
    }
    if (sees('+') || sees('-') || sees(' ')) spec.number.sign = text_[at_++];
    if (skip('#')) spec.number.alternate = true;
    if (skip('0')) {
      spec.zero = true;
      if (!spec.align) {
        spec.align = '=';
        spec.fill = "0";
      }
    }
    spec.width = number();
    if (sees(',') || sees('_')) spec.number.grouping = text_[at_++];
    if (skip('.')) {
      if (at_ >= text_.size() || text_[at_] < '0' || text_[at_] > '9') {
        fail_value("Format specifier missing precision");
      }
      spec.number.precision = static_cast<int>(number());
    }
    if (at_ < text_.size()) spec.number.type = text_[at_++];
    if (at_ < text_.size()) fail_value(fmt::format("Invalid format specifier '{}'", text_));
    return spec;
  }

 private:
  static bool is_align(char c) { return c == '<' || c == '>' || c == '^' || c == '='; }
  bool sees(char c) const { return at_ < text_.size() && text_[at_] == c; }
  bool skip(char c) {
    if (!sees(c)) return false;
    ++at_;
    return true;
  }
  size_t number() {
    size_t value = 0;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
      value = value * 10 + static_cast<size_t>(text_[at_++] - '0');
      if (value > max_width) throw JinjaError(Fault::limit, "a field wider than 1000000");
    }
    return value;
  }

  std::string_view text_;
  size_t at_ = 0;
};

std::string pad(const Spec& spec, const NumberText& text, char default_align) {
  const size_t length = count_code_points(text.sign) + count_code_points(text.digits);
  const size_t missing = spec.width > length ? spec.width - length : 0;
  const char align = spec.align ? spec.align : default_align;
  const size_t left = align == '>' ? missing : align == '^' ? missing / 2 : 0;
  const size_t inner = align == '=' ? missing : 0;
  const auto repeat = [&](size_t count) {
    std::string out;
    for (size_t i = 0; i < count; ++i) out += spec.fill;
    return out;
  };
  return repeat(left) + text.sign + repeat(inner) + text.digits + repeat(missing - left - inner);
}

class Formatter {
 public:
  Formatter(Interpreter& run, std::string_view format, const Arguments& arguments)
      : run_(run), format_(format), arguments_(arguments) {}

  std::string expand(std::string_view format, int depth) {
    if (depth > 2) fail_value("Max string recursion exceeded");
    std::string out;
    for (size_t i = 0; i < format.size(); ++i) {
      const char c = format[i];
      if ((c == '{' || c == '}') && i + 1 < format.size() && format[i + 1] == c) {
        out += c;
        ++i;
      } else if (c == '}') {
        fail_value("Single '}' encountered in format string");
      } else if (c == '{') {
        const size_t end = field_end(format, i + 1);
        out += field(format.substr(i + 1, end - i - 1), depth);
        i = end;
      } else {
        out += c;
      }
      run_.budget().check_text(out.size());
    }
    run_.budget().step_text(out.size() + format.size());
    return out;
  }

 private:
  static size_t field_end(std::string_view format, size_t from) {
    int open = 1;
    for (size_t i = from; i < format.size(); ++i) {
      if (format[i] == '{') ++open;
      if (format[i] == '}' && --open == 0) return i;
    }
    fail_value("expected '}' before end of string");
  }

  std::string field(std::string_view text, int depth) {
    // name !conversion :spec, where the name may hold brackets with anything in them.
    size_t end = 0;
    bool bracket = false;
    while (end < text.size() && (bracket || (text[end] != '!' && text[end] != ':'))) {
      if (text[end] == '[') bracket = true;
      if (text[end] == ']') bracket = false;
      ++end;
    }
    Value value = find(text.substr(0, end));
    if (end < text.size() && text[end] == '!') {
      const char conversion = end + 1 < text.size() ? text[end + 1] : ' ';
      std::string shown;
      if (conversion == 's') {
        append_str(run_.budget(), shown, value);
      } else if (conversion == 'r' || conversion == 'a') {
        append_repr(run_.budget(), shown, value);
      } else {
        fail_value(fmt::format("Unknown conversion specifier '{}'", conversion));
      }
      value = run_.text(std::move(shown));
      end += 2;
    }
    std::string spec;
    if (end < text.size()) {
      if (text[end] != ':') fail_value("expected ':' after conversion specifier");
      spec = expand(text.substr(end + 1), depth + 1);
    }
    return py_format_value(run_.budget(), value, spec);
  }

  Value find(std::string_view name) {
    const size_t end = std::min(name.find_first_of(".["), name.size());
    Value value = argument(name.substr(0, end));
    for (size_t at = end; at < name.size();) {
      if (name[at] == '.') {
        const size_t next = std::min(name.find_first_of(".[", at + 1), name.size());
        value = run_.get_attribute(value, name.substr(at + 1, next - at - 1));
        at = next;
      } else {
        const size_t close = name.find(']', at);
        if (name[at] != '[' || close == name.npos) fail_value("Missing ']' in format string");
        const std::string_view key = name.substr(at + 1, close - at - 1);
        const auto index = BigInt::from_digits(key, 10);
        value = run_.get_item(value, index ? Value::number(*index) : run_.text(std::string(key)));
        at = close + 1;
      }
    }
    return value;
  }

  Value argument(std::string_view name) {
    std::optional<int64_t> index;
    if (name.empty()) {
      index = automatic_++;
    } else if (const auto digits = BigInt::from_digits(name, 10)) {
      index = digits->to_int64();
    }
    if (index) {
      const size_t at = static_cast<size_t>(*index);
      if (at >= arguments_.positional.size()) {
        fail_value("Replacement index out of range for positional args");
      }
      return arguments_.positional[at];
    }
    for (const auto& [key, value] : arguments_.keyword) {
      if (key == name) return value;
    }
    fail_value(fmt::format("no value named '{}' to format", name));
  }

  Interpreter& run_;
  std::string_view format_;
  const Arguments& arguments_;
  int64_t automatic_ = 0;
};

}  // namespace

std::string py_format_value(Budget& budget, const Value& value, std::string_view text) {
  if (text.empty()) return to_str(budget, value);
  Spec spec = SpecReader(text).read();
  const char type = spec.number.type;
  const auto refuse = [&] {
    fail_value(
        fmt::format("Unknown format code '{}' for object of type '{}'", type, type_name(value)));
  };
  if (value.is_string()) {
    if (type != 0 && type != 's') refuse();
    if (spec.align == '=' && !spec.zero)
      fail_value("'=' alignment not allowed in string format specifier");
    if (spec.align == '=') spec.align = '<';
    std::string shown = value.bytes();
    if (spec.number.precision >= 0) {
      shown.resize(byte_offset(shown, static_cast<size_t>(spec.number.precision)));
    }
    return pad(spec, {"", shown}, '<');
  }
  const bool real_type = std::string_view("eEfFgG%").find(type) != std::string_view::npos && type;
  if (value.is(Kind::real) || (value.is_integral() && real_type)) {
    if (!real_type && type != 0 && type != 'n') refuse();
    return pad(spec, layout_real(to_double(value), spec.number), '>');
  }
  if (value.is_integral()) {
    if (type == 'c') {
      std::string shown;
      const int64_t code = to_index(value, "%c arg");
      if (code < 0 || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) refuse();
      utf8::append(shown, static_cast<uint32_t>(code));
      return pad(spec, {"", shown}, '>');
    }
    if (value.is(Kind::boolean) && type == 0) {
      const std::string shown = value.as_boolean() ? "True" : "False";
      if (spec.width == 0) return shown;
    }
    if (std::string_view("bcdoxXn").find(type) == std::string_view::npos && type) refuse();
    if (spec.number.precision >= 0) fail_value("Precision not allowed in integer format specifier");
    return pad(spec, layout_integer(to_big(value), spec.number), '>');
  }
  if (value.is_undefined()) fail_undefined(value);
  fail_type(fmt::format("unsupported format string passed to {}.__format__", type_name(value)));
}

Value py_format(Interpreter& run, const Value& self, const Arguments& arguments) {
  return run.text(Formatter(run, self.bytes(), arguments).expand(self.bytes(), 1),
                  self.as_text().kind);
}

}  // namespace dure::jinja
