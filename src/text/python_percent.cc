// "format" % values, the printf-like way.
#include <fmt/format.h>

#include <cmath>

#include "base/utf8.h"
#include "text/jinja_ops.h"
#include "text/python_format.h"
#include "text/python_unicode.h"

namespace dure::jinja {
namespace {

constexpr int max_width = 1'000'000;

class Percent {
 public:
  Percent(Budget& budget, const Value& format, const Value& values)
      : budget_(budget),
        format_(format.bytes()),
        escape_(format.as_text().kind == TextKind::markup),
        values_(values) {}

  std::string run() {
    while (at_ < format_.size()) {
      const size_t percent = std::min(format_.find('%', at_), format_.size());
      append(format_.substr(at_, percent - at_));
      at_ = percent;
      if (at_ < format_.size()) conversion();
    }
    const bool several = values_.is_sequence(SequenceKind::tuple);
    const size_t given = several ? values_.as_sequence().items.size() : 1;
    if (used_ < given && !(values_.is(Kind::dict) && !several) && !named_) {
      fail_type("not all arguments converted during string formatting");
    }
    return std::move(out_);
  }

 private:
  void append(std::string_view text) {
    out_ += text;
    budget_.step_text(text.size());
    budget_.check_text(out_.size());
  }

  char peek() const {
    if (at_ >= format_.size()) fail_value("incomplete format");
    return format_[at_];
  }

  const Value& next_value() {
    if (values_.is_sequence(SequenceKind::tuple)) {
      const auto& items = values_.as_sequence().items;
      if (used_ >= items.size()) fail_type("not enough arguments for format string");
      return items[used_++];
    }
    if (used_++ > 0) fail_type("not enough arguments for format string");
    return values_;
  }

  int number() {
    if (peek() == '*') {
      ++at_;
      const int64_t value = to_index(next_value(), "* in a format");
      if (value > max_width || value < -max_width) budget_.check_text(budget_.limits().text + 1);
      return static_cast<int>(value);
    }
    int value = 0;
    while (peek() >= '0' && peek() <= '9') {
      value = value * 10 + (format_[at_++] - '0');
      if (value > max_width) budget_.check_text(budget_.limits().text + 1);
    }
    return value;
  }

  void conversion() {
    ++at_;
    const Value* named = nullptr;
    if (peek() == '(') {
      const size_t close = format_.find(')', at_);
      if (close == format_.npos) fail_value("incomplete format key");
      const std::string_view key = format_.substr(at_ + 1, close - at_ - 1);
      if (!values_.is(Kind::dict)) fail_type("format requires a mapping");
      named = values_.as_dict().find(key);
      if (!named) fail_value(fmt::format("no value named '{}' to format", key));
      named_ = true;
      at_ = close + 1;
    }
    bool left = false, zero = false;
    NumberLayout layout;
    for (bool flags = true; flags;) {
      switch (peek()) {
        case '-':
          left = true;
          break;
        case '0':
          zero = true;
          break;
        case '+':
          layout.sign = '+';
          break;
        case ' ':
          layout.sign = layout.sign == '+' ? '+' : ' ';
          break;
        case '#':
          layout.alternate = true;
          break;
        default:
          flags = false;
          continue;
      }
      ++at_;
    }
    int width = number();
    if (width < 0) {
      left = true;
      width = -width;
    }
    if (peek() == '.') {
      ++at_;
      layout.precision = std::max(number(), 0);
    }
    while (peek() == 'l' || peek() == 'h' || peek() == 'L') ++at_;
    const char type = peek();
    ++at_;
    if (type == '%') return append("%");
    const Value value = named ? *named : next_value();
    const NumberText text = convert(value, type, layout);
    const size_t length = count_code_points(text.sign) + count_code_points(text.digits);
    const size_t missing =
        static_cast<size_t>(width) > length ? static_cast<size_t>(width) - length : 0;
    const bool numeric = type != 's' && type != 'r' && type != 'a' && type != 'c';
    if (!left && !(zero && numeric)) append(std::string(missing, ' '));
    append(text.sign);
    if (!left && zero && numeric) append(std::string(missing, '0'));
    append(text.digits);
    if (left) append(std::string(missing, ' '));
  }

  NumberText convert(const Value& value, char type, NumberLayout layout) {
    switch (type) {
      case 's':
      case 'r':
      case 'a': {
        std::string text;
        if (type == 's') {
          append_str(budget_, text, escape_ ? escape_html(budget_, value) : value);
        } else {
          append_repr(budget_, text, value);
        }
        if (layout.precision >= 0) {
          text.resize(byte_offset(text, static_cast<size_t>(layout.precision)));
        }
        return {"", text};
      }
      case 'c': {
        if (value.is_string() && value.as_text().length == 1) return {"", value.bytes()};
        if (!value.is(Kind::integer)) fail_type("%c requires int or char");
        const int64_t code = value.as_integer();
        if (code < 0 || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) {
          fail_value("%c arg not in range(0x110000)");
        }
        std::string text;
        utf8::append(text, static_cast<uint32_t>(code));
        return {"", text};
      }
      case 'd':
      case 'i':
      case 'u':
      case 'x':
      case 'X':
      case 'o':
        return convert_integer(value, type, layout);
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G':
        if (value.is_undefined()) fail_undefined(value);
        if (!value.is_number()) {
          fail_type("must be real number, not " + type_name(value));
        }
        layout.type = type;
        return layout_real(to_double(value), layout);
      default:
        fail_value(fmt::format("unsupported format character '{}'", type));
    }
  }

  NumberText convert_integer(const Value& value, char type, NumberLayout layout) {
    if (value.is_undefined()) fail_undefined(value);
    const bool decimal = type == 'd' || type == 'i' || type == 'u';
    const bool real = value.is(Kind::real) && decimal;
    if (!value.is_integral() && !real) {
      fail_type(fmt::format("%{} format: {} is required, not {}", type,
                            decimal ? "a real number" : "an integer", type_name(value)));
    }
    if (real && !std::isfinite(value.as_real())) fail_value("cannot convert float to integer");
    layout.type = decimal ? 'd' : type;
    NumberText text =
        layout_integer(real ? BigInt::from_double(value.as_real()) : to_big(value), layout);
    const size_t digits = layout.precision < 0 ? 0 : static_cast<size_t>(layout.precision);
    if (text.digits.size() < digits) text.digits.insert(0, digits - text.digits.size(), '0');
    return text;
  }

  Budget& budget_;
  std::string_view format_;
  bool escape_;  // the format is markup: what goes into it is escaped
  const Value& values_;
  size_t at_ = 0, used_ = 0;
  bool named_ = false;
  std::string out_;
};

}  // namespace

Value py_percent_format(Budget& budget, const Value& format, const Value& values) {
  return Value::text(Percent(budget, format, values).run(), &budget, format.as_text().kind);
}

}  // namespace dure::jinja
