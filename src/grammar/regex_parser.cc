// See regex_parser.h. Recursive descent; the depth is bounded by max_nesting.
#include "grammar/regex_parser.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/utf8.h"
#include "grammar/limits.h"
#include "grammar/regex_anchors.h"
#include "grammar/regex_escape.h"

namespace dure::grammar {
namespace {

class Parser {
 public:
  Parser(std::string_view pattern, std::string_view what) : text_(pattern), what_(what) {
    if (pattern.size() > max_regex_bytes) {
      throw_bad_input(fmt::format("{}: a pattern of {} bytes, the limit is {}", what,
                                  pattern.size(), max_regex_bytes));
    }
  }

  Expression parse() {
    Expression out = alternatives();
    if (at_ < text_.size()) fail("a ')' without its '('");
    return out;
  }

 private:
  [[noreturn]] void fail(std::string_view problem, std::string_view hint = "") const {
    throw_bad_input(fmt::format("{}: {} at byte {} of the pattern", what_, problem, at_ + 1),
                    std::string(hint));
  }
  bool at_end() const { return at_ == text_.size(); }
  char peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  bool take(std::string_view token) {
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }

  Expression alternatives() {
    std::vector<Expression> branches{terms()};
    while (take("|")) branches.push_back(terms());
    return choice(std::move(branches));
  }

  Expression terms() {
    std::vector<Expression> parts;
    while (!at_end() && peek() != '|' && peek() != ')') {
      const size_t begin = at_;
      Expression part = atom();
      const bool anchor =
          part.kind == Expression::Kind::begin || part.kind == Expression::Kind::end;
      parts.push_back(anchor ? std::move(part) : quantified(std::move(part)));
      if (anchor && is_quantifier()) fail("a quantifier behind an anchor");
      DURE_CHECK(at_ > begin);
    }
    return sequence(std::move(parts));
  }

  Expression atom() {
    switch (peek()) {
      case '(':
        return group();
      case '[': {
        ++at_;
        return characters(parse_class(text_, at_, what_));
      }
      case '.':
        ++at_;
        return characters(CodePoints::one('\n').complement());
      case '^':
        ++at_;
        return anchor(Expression::Kind::begin);
      case '$':
        ++at_;
        return anchor(Expression::Kind::end);
      case '\\':
        return escape();
      case '*':
      case '+':
      case '?':
        fail("a quantifier with nothing before it");
      default:
        break;
    }
    std::string_view rest = text_.substr(at_);
    uint32_t character = 0;
    if (!utf8::take(rest, character)) fail("bytes that are not UTF-8");
    at_ = text_.size() - rest.size();
    return characters(CodePoints::one(character));
  }

  static Expression anchor(Expression::Kind kind) {
    Expression out;
    out.kind = kind;
    return out;
  }

  Expression escape() {
    if (take("\\A")) return anchor(Expression::Kind::begin);
    if (take("\\z") || take("\\Z")) return anchor(Expression::Kind::end);
    ++at_;
    return characters(parse_escape(text_, at_, what_));
  }

  Expression group() {
    ++at_;
    for (const std::string_view look : {"?=", "?!", "?<=", "?<!"}) {
      if (text_.substr(at_).starts_with(look)) {
        fail(fmt::format("look-around ({}", look), "only what an automaton can match is supported");
      }
    }
    if (text_.substr(at_).starts_with("?>")) fail("an atomic group (?>");
    if (text_.substr(at_).starts_with("?P=")) fail("a back-reference (?P=");
    if (take("?:")) {
    } else if (take("?P<") || take("?<")) {
      while (!at_end() && peek() != '>') ++at_;
      if (!take(">")) fail("a group's name without its '>'");
    } else if (peek() == '?') {
      fail("an inline flag or an unknown group (?");
    }
    if (++depth_ > max_nesting) fail(fmt::format("groups nested deeper than {}", max_nesting));
    Expression inner = alternatives();
    if (!take(")")) fail("a '(' without its ')'");
    --depth_;
    return inner;
  }

  // {m}, {m,} or {m,n} at the place; anything else in braces is plain text.
  bool counts(uint32_t& low, uint32_t& high) {
    size_t at = at_ + 1;
    const auto number = [&](uint32_t& value) {
      const size_t begin = at;
      uint64_t sum = 0;
      for (; at < text_.size() && text_[at] >= '0' && text_[at] <= '9'; ++at) {
        sum = std::min<uint64_t>(sum * 10 + static_cast<uint64_t>(text_[at] - '0'), unbounded);
      }
      value = static_cast<uint32_t>(sum);
      return at > begin;
    };
    if (peek() != '{' || !number(low)) return false;
    high = low;
    if (at < text_.size() && text_[at] == ',') {
      ++at;
      if (!number(high))
        high = unbounded;
      else if (high == unbounded)
        high = unbounded - 1;  // a number, if a large one
    }
    if (at >= text_.size() || text_[at] != '}') return false;
    const uint32_t largest = high == unbounded ? low : std::max(low, high);
    if (largest > max_count) {
      fail(fmt::format("a repetition count above {}", max_count));
    }
    if (low > high) fail("a repetition {m,n} with m above n");
    at_ = at + 1;
    return true;
  }

  bool is_quantifier() {
    uint32_t low = 0, high = 0;
    const size_t begin = at_;
    const bool found = peek() == '*' || peek() == '+' || peek() == '?' || counts(low, high);
    at_ = begin;
    return !at_end() && found;
  }

  Expression quantified(Expression part) {
    uint32_t low = 0, high = unbounded;
    if (take("*")) {
    } else if (take("+")) {
      low = 1;
    } else if (take("?")) {
      high = 1;
    } else if (!counts(low, high)) {
      return part;
    }
    if (peek() == '+') fail("a possessive quantifier");
    take("?");  // a lazy one matches the same texts
    if (is_quantifier()) fail("a quantifier behind a quantifier");
    return repeat(std::move(part), low, high);
  }

  std::string_view text_;
  std::string_view what_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Expression parse_regex(std::string_view pattern, std::string_view what) {
  return without_anchors(Parser(pattern, what).parse(), what);
}

Expression parse_regex_search(std::string_view pattern, std::string_view what) {
  return anchored_search(Parser(pattern, what).parse(), what);
}

}  // namespace dure::grammar
