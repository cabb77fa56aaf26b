// See python_literal.h: recursive descent over a text that is all there.
#include "dialogue/python_literal.h"

#include <cstdint>

#include "base/utf8.h"
#include "dialogue/answer_sink.h"
#include "dialogue/json_reading.h"

namespace dure::dialogue {
namespace {

constexpr int deepest = 64;

class Literal {
 public:
  explicit Literal(std::string_view text) : text_(text) {}

  std::optional<std::string> read() {
    if (!value(0)) return std::nullopt;
    skip_space();
    if (at_ != text_.size()) return std::nullopt;
    return std::move(json_);
  }

 private:
  void skip_space() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  }

  bool next_is(char wanted) {
    skip_space();
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  bool value(int depth) {
    skip_space();
    if (at_ == text_.size() || depth > deepest) return false;
    switch (text_[at_]) {
      case '\'':
      case '"':
        return string();
      case '[':
        return list(']', depth);
      case '(':
        return list(')', depth);
      case '{':
        return dict(depth);
      default:
        return word() || number();
    }
  }

  bool list(char close, int depth) {
    ++at_;
    json_ += '[';
    for (bool first = true; !next_is(close); first = false) {
      if (!first) {
        if (!next_is(',')) return false;
        if (next_is(close)) break;
        json_ += ", ";
      }
      if (!value(depth + 1)) return false;
    }
    json_ += ']';
    return true;
  }

  bool dict(int depth) {
    ++at_;
    json_ += '{';
    for (bool first = true; !next_is('}'); first = false) {
      if (!first) {
        if (!next_is(',')) return false;
        if (next_is('}')) break;
        json_ += ", ";
      }
      skip_space();
      if (at_ == text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) return false;
      if (!string() || !next_is(':')) return false;
      json_ += ": ";
      if (!value(depth + 1)) return false;
    }
    json_ += '}';
    return true;
  }

  bool word() {
    constexpr std::pair<std::string_view, std::string_view> words[] = {
        {"True", "true"}, {"False", "false"}, {"None", "null"},
        {"true", "true"}, {"false", "false"}, {"null", "null"}};
    for (const auto& [name, json] : words) {
      if (!text_.substr(at_).starts_with(name)) continue;
      at_ += name.size();
      json_ += json;
      return true;
    }
    return false;
  }

  bool digits() {
    const size_t from = at_;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
    return at_ > from;
  }

  // The numbers that JSON and Python share; a plus in front and a bare point are Python's alone.
  bool number() {
    if (text_[at_] == '+') ++at_;
    const size_t from = at_;
    if (at_ < text_.size() && text_[at_] == '-') ++at_;
    if (!digits()) return false;
    json_ += text_.substr(from, at_ - from);
    if (at_ < text_.size() && text_[at_] == '.') {
      ++at_;
      const size_t fraction = at_;
      json_ += digits() ? '.' + std::string(text_.substr(fraction, at_ - fraction)) : ".0";
    }
    if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
      const size_t exponent = at_++;
      if (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-')) ++at_;
      if (!digits()) return false;
      json_ += text_.substr(exponent, at_ - exponent);
    }
    return true;
  }

  bool string() {
    const char quote = text_[at_++];
    std::string meant;
    while (at_ < text_.size()) {
      const char byte = text_[at_++];
      if (byte == quote) {
        json_ += json_quoted(meant);
        return true;
      }
      if (byte != '\\') {
        meant += byte;
      } else if (!escape(meant)) {
        return false;
      }
    }
    return false;
  }

  bool escape(std::string& meant) {
    if (at_ == text_.size()) return false;
    const char byte = text_[at_++];
    switch (byte) {
      case 'n':
        meant += '\n';
        return true;
      case 't':
        meant += '\t';
        return true;
      case 'r':
        meant += '\r';
        return true;
      case 'b':
        meant += '\b';
        return true;
      case 'f':
        meant += '\f';
        return true;
      case '\n':  // the line goes on
        return true;
      case 'x':
        return code(2, meant);
      case 'u':
        return code(4, meant);
      case 'U':
        return code(8, meant);
      case '\\':
      case '\'':
      case '"':
      case '/':
        meant += byte;
        return true;
      default:
        meant += '\\';  // as Python keeps what it does not know
        meant += byte;
        return true;
    }
  }

  bool code(int digits, std::string& meant) {
    uint32_t value = 0;
    if (!hex(digits, value)) return false;
    const bool high = value >= 0xD800 && value < 0xDC00;
    uint32_t low = 0;
    if (high && text_.substr(at_).starts_with("\\u")) {
      const size_t back = at_;
      at_ += 2;
      if (hex(4, low) && low >= 0xDC00 && low < 0xE000) {
        value = 0x10000 + ((value - 0xD800) << 10) + (low - 0xDC00);
      } else {
        at_ = back;
      }
    }
    const bool lone = value >= 0xD800 && value < 0xE000;
    utf8::append(meant, lone || value > 0x10FFFF ? 0xFFFD : static_cast<char32_t>(value));
    return true;
  }

  bool hex(int digits, uint32_t& value) {
    for (int i = 0; i < digits; ++i, ++at_) {
      if (at_ == text_.size()) return false;
      const char byte = text_[at_];
      uint32_t digit = 16;
      if (byte >= '0' && byte <= '9') digit = static_cast<uint32_t>(byte - '0');
      if (byte >= 'a' && byte <= 'f') digit = static_cast<uint32_t>(byte - 'a' + 10);
      if (byte >= 'A' && byte <= 'F') digit = static_cast<uint32_t>(byte - 'A' + 10);
      if (digit == 16) return false;
      value = value * 16 + digit;
    }
    return true;
  }

  std::string_view text_;
  size_t at_ = 0;
  std::string json_;
};

}  // namespace

std::optional<std::string> python_literal_as_json(std::string_view text) {
  return Literal(text).read();
}

}  // namespace dure::dialogue
