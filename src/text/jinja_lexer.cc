// The tokenizer: text and tags at the outer level, Python-like tokens inside the tags.
#include "text/jinja_lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "text/jinja_literal.h"
#include "text/python_unicode.h"

namespace dure::jinja {
namespace {

constexpr std::array<std::string_view, 25> symbols = {
    "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", ">",
    "<",  "=",  "(",  ")",  "[",  "]",  "{", "}", ".", ":", "|", ",",
};

std::string normalize_newlines(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      out.push_back(source[i]);
    } else {
      out.push_back('\n');
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    }
  }
  if (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

class Lexer {
 public:
  explicit Lexer(std::string source) : source_(std::move(source)) {}

  std::vector<Lexeme> run() {
    while (at_ < source_.size()) text();
    push(Token::end, "");
    return std::move(out_);
  }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    throw JinjaError(Fault::syntax, message, line_);
  }

  std::string_view left() const { return std::string_view(source_).substr(at_); }
  bool sees(std::string_view wanted) const { return left().starts_with(wanted); }

  void advance(size_t bytes) {
    line_ += static_cast<int>(std::count(source_.begin() + static_cast<long>(at_),
                                         source_.begin() + static_cast<long>(at_ + bytes), '\n'));
    at_ += bytes;
    if (bytes > 0) line_starts_ = source_[at_ - 1] == '\n';
  }

  void push(Token token, std::string text, Value value = {}) {
    out_.push_back({token, std::move(text), std::move(value), line_});
  }

  void skip_space() {
    const std::string_view rest = left();
    advance(rest.size() - py_strip(rest, Side::left).size());
  }

  // Ends of tags: "-" eats the white space behind, "+" keeps all, otherwise a block eats one
  // newline.
  bool tag_end(std::string_view close, bool block) {
    if (sees("-") && left().substr(1).starts_with(close)) {
      advance(1 + close.size());
      skip_space();
      return true;
    }
    if (block && sees("+") && left().substr(1).starts_with(close)) {
      advance(1 + close.size());
      return true;
    }
    if (!sees(close)) return false;
    advance(close.size());
    if (block && sees("\n")) advance(1);
    return true;
  }

  // Text up to the next tag, then the tag.
  void text() {
    size_t tag = at_;
    do {
      tag = source_.find('{', tag);
      if (tag == std::string::npos || tag + 1 >= source_.size()) {
        push(Token::data, std::string(left()));
        advance(left().size());
        return;
      }
      const char next = source_[tag + 1];
      if (next == '{' || next == '%' || next == '#') break;
      ++tag;
    } while (true);
    const char kind = source_[tag + 1];
    char sign = tag + 2 < source_.size() ? source_[tag + 2] : ' ';
    if (sign != '-' && sign != '+') sign = ' ';
    data_before_tag(tag, sign, kind != '{');
    if (kind == '#') return comment(2 + (sign != ' '));
    if (kind == '%' && raw_block(sign)) return;
    advance(2 + (sign != ' '));
    push(kind == '{' ? Token::variable_begin : Token::block_begin, "");
    tag_tokens(kind == '{');
  }

  void data_before_tag(size_t tag, char sign, bool block) {
    const std::string_view all = std::string_view(source_).substr(at_, tag - at_);
    std::string_view data = all;
    if (sign == '-') {
      data = py_strip(data, Side::right);
    } else if (sign != '+' && block) {
      const size_t line = data.rfind('\n') + 1;  // npos + 1 is 0
      const bool own_line = line > 0 || line_starts_;
      if (own_line && py_strip(data.substr(line), Side::left).empty()) data = data.substr(0, line);
    }
    if (!data.empty()) push(Token::data, std::string(data));
    advance(all.size());
  }

  void comment(size_t opening) {
    // A sign straight behind "{#" belongs to the opening, so that "{#-#}" ends where it should.
    advance(opening);
    const size_t end = source_.find("#}", at_);
    if (end == std::string::npos) fail("Missing end of comment tag");
    const bool signed_end = end > at_ && (source_[end - 1] == '-' || source_[end - 1] == '+');
    advance(end - at_ - (signed_end ? 1 : 0));
    tag_end("#}", true);
  }

  // At "{%": reads a whole raw block if it is one.
  bool raw_block(char sign) {
    size_t i = at_ + 2 + (sign != ' ');
    const auto space = [&] {
      while (i < source_.size() && py_is_space(code_point_at(source_, i).code)) {
        i += code_point_at(source_, i).bytes;
      }
    };
    space();
    if (source_.compare(i, 3, "raw") != 0) return false;
    i += 3;
    space();
    const bool strip = source_.compare(i, 3, "-%}") == 0;
    if (!strip && source_.compare(i, 2, "%}") != 0) return false;
    advance(i + (strip ? 3 : 2) - at_);
    if (strip) skip_space();
    for (size_t tag = source_.find("{%", at_); tag != std::string::npos;
         tag = source_.find("{%", tag + 2)) {
      i = tag + 2;
      char inner = i < source_.size() ? source_[i] : ' ';
      if (inner != '-' && inner != '+') inner = ' ';
      if (inner != ' ') ++i;
      space();
      if (source_.compare(i, 6, "endraw") != 0) continue;
      i += 6;
      space();
      const std::string_view rest = std::string_view(source_).substr(i);
      if (!rest.starts_with("%}") && !rest.starts_with("-%}") && !rest.starts_with("+%}")) continue;
      data_before_tag(tag, inner, true);
      advance(i - at_);
      return tag_end("%}", true);
    }
    fail("Missing end of raw directive");
  }

  void tag_tokens(bool variable) {
    std::string brackets;
    while (true) {
      if (brackets.empty() && tag_end(variable ? "}}" : "%}", !variable)) {
        push(variable ? Token::variable_end : Token::block_end, "");
        return;
      }
      if (at_ >= source_.size()) {
        fail(brackets.empty()
                 ? "unexpected end of template inside a tag"
                 : fmt::format("unexpected end of template, expected '{}'", brackets.back()));
      }
      if (py_is_space(code_point_at(source_, at_).code)) {
        skip_space();
      } else if (!literal_or_name()) {
        symbol(brackets);
      }
    }
  }

  bool literal_or_name() {
    const std::string_view rest = left();
    if (rest[0] == '\'' || rest[0] == '"') {
      const size_t bytes = string_literal_length(rest);
      if (bytes == 0) fail(fmt::format("unexpected char {} : an unterminated string", rest[0]));
      push(Token::text, "", Value::text(decode_string_literal(rest.substr(1, bytes - 2), line_)));
      advance(bytes);
      return true;
    }
    const bool after_dot = at_ > 0 && source_[at_ - 1] == '.';
    if (const NumberLiteral number = number_literal(rest, !after_dot); number.bytes > 0) {
      push(Token::number, std::string(rest.substr(0, number.bytes)), number.value);
      advance(number.bytes);
      return true;
    }
    const size_t bytes = name_length(rest, line_);
    if (bytes == 0) return false;
    push(Token::name, std::string(rest.substr(0, bytes)));
    advance(bytes);
    return true;
  }

  void symbol(std::string& brackets) {
    const auto found = std::find_if(symbols.begin(), symbols.end(),
                                    [&](std::string_view candidate) { return sees(candidate); });
    if (found == symbols.end()) {
      fail(fmt::format("unexpected char {}",
                       py_repr(left().substr(0, code_point_at(source_, at_).bytes))));
    }
    const char c = (*found)[0];
    if (c == '(') brackets.push_back(')');
    if (c == '[') brackets.push_back(']');
    if (c == '{') brackets.push_back('}');
    if (c == ')' || c == ']' || c == '}') {
      if (brackets.empty()) fail(fmt::format("unexpected '{}'", c));
      if (brackets.back() != c)
        fail(fmt::format("unexpected '{}', expected '{}'", c, brackets.back()));
      brackets.pop_back();
    }
    push(Token::symbol, std::string(*found));
    advance(found->size());
  }

  std::string source_;
  size_t at_ = 0;
  int line_ = 1;
  bool line_starts_ = true;
  std::vector<Lexeme> out_;
};

}  // namespace

std::vector<Lexeme> tokenize(std::string_view source) {
  if (!is_valid_utf8(source)) throw JinjaError(Fault::syntax, "the source is not valid UTF-8");
  return Lexer(normalize_newlines(source)).run();
}

}  // namespace dure::jinja
