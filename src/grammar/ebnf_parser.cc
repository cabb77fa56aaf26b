// See ebnf_parser.h. Recursive descent; the depth is bounded by max_nesting.
#include "grammar/ebnf_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/utf8.h"
#include "grammar/emit.h"
#include "grammar/limits.h"
#include "grammar/regex_escape.h"
#include "grammar/regex_parser.h"

namespace dure::grammar {
namespace {

bool begins_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool in_name(char c) {
  return begins_name(c) || (c >= '0' && c <= '9') || c == '-';
}

// A rule's direct left recursion, a ::= a x | y, as a ::= y x*.
Expression without_left_recursion(Expression body, RuleId self) {
  const auto is_self = [&](const Expression& e) {
    return e.kind == Expression::Kind::rule && e.called == self;
  };
  const auto begins_with_self = [&](const Expression& e) {
    return is_self(e) ||
           (e.kind == Expression::Kind::sequence && !e.parts.empty() && is_self(e.parts[0]));
  };
  if (body.kind != Expression::Kind::choice || std::ranges::none_of(body.parts, begins_with_self)) {
    return body;
  }
  std::vector<Expression> heads, tails;
  for (Expression& part : body.parts) {
    if (!begins_with_self(part)) {
      heads.push_back(std::move(part));
    } else if (!is_self(part)) {
      part.parts.erase(part.parts.begin());
      tails.push_back(std::move(part));
    }
  }
  std::vector<Expression> out;
  out.push_back(choice(std::move(heads)));
  if (!tails.empty()) out.push_back(repeat(choice(std::move(tails)), 0, unbounded));
  return sequence(std::move(out));
}

class Parser {
 public:
  Parser(AutomatonBuilder& builder, std::string_view text) : builder_(builder), text_(text) {}

  RuleId run() {
    skip();
    while (at_ < text_.size()) rule_definition();
    for (const char* const name : {"root", "start"}) {
      if (const auto found = rules_.find(name); found != rules_.end()) {
        for (const auto& [other, entry] : rules_) {
          if (!entry.defined) {
            throw_bad_input(fmt::format("{}: line {}: the rule {:.100} is not defined",
                                        builder_.what(), entry.line, other));
          }
        }
        return found->second.rule;
      }
    }
    throw_bad_input(fmt::format("{}: no rule is called root or start", builder_.what()),
                    "name the rule that the whole answer has to match root");
  }

 private:
  struct Entry {
    RuleId rule = 0;
    bool defined = false;
    size_t line = 0;  // where it was first named
  };

  size_t line() {
    if (at_ < counted_to_) counted_to_ = lines_ = 0;
    const std::string_view part = text_.substr(counted_to_, at_ - counted_to_);
    lines_ += static_cast<size_t>(std::count(part.begin(), part.end(), '\n'));
    counted_to_ = std::min(at_, text_.size());
    return 1 + lines_;
  }
  [[noreturn]] void fail(std::string_view problem, std::string_view hint = "") {
    throw_bad_input(fmt::format("{}: line {}: {}", builder_.what(), line(), problem),
                    std::string(hint));
  }
  char peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  bool take(std::string_view token) {
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }

  // White space, line ends and comments.
  void skip() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#' || text_.substr(at_).starts_with("//")) {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
        ++at_;
      } else {
        return;
      }
    }
  }

  std::string_view name() {
    const size_t begin = at_;
    if (begins_name(peek())) {
      while (in_name(peek())) ++at_;
    }
    return text_.substr(begin, at_ - begin);
  }

  // What defines a rule, behind its name: "::=", ":" or "=". Empty where it is none of them.
  std::string_view take_definer() {
    for (const std::string_view definer : {"::=", ":", "="}) {
      if (take(definer)) return definer;
    }
    return {};
  }

  bool at_definition() {
    const size_t begin = at_;
    if (peek() == '?' || peek() == '!') ++at_;
    bool found = false;
    if (!name().empty()) {
      while (peek() == ' ' || peek() == '\t') ++at_;
      found = !take_definer().empty();
    }
    at_ = begin;
    return found;
  }

  Entry& entry_of(std::string_view name) {
    const auto [at, fresh] = rules_.try_emplace(std::string(name));
    if (fresh) at->second = {builder_.add_rule(std::string(name)), false, line()};
    return at->second;
  }

  void rule_definition() {
    if (peek() == '%') fail(fmt::format("{:.20}… is not supported", text_.substr(at_, 8)));
    const bool marked = take("?") || take("!");
    const std::string_view called = name();
    if (called.empty()) fail("a rule's name was expected");
    if (peek() == '.') fail(fmt::format("a priority of the rule {} is not supported", called));
    if (peek() == '{') fail(fmt::format("the template {} is not supported", called));
    skip();
    const std::string_view definer = take_definer();
    if (definer.empty())
      fail(fmt::format("'::=' was expected behind the rule's name {:.100}", called));
    lark_ = definer == ":" || marked;
    Entry& entry = entry_of(called);
    if (entry.defined) fail(fmt::format("the rule {:.100} is defined twice", called));
    entry.defined = true;
    const RuleId rule = entry.rule;
    skip();
    Expression body = alternatives();
    skip();
    take(";");
    skip();
    if (at_ < text_.size() && !at_definition() && peek() != '%')
      fail("a rule's part or a new rule was expected");
    Emitter(builder_, Encoding::utf8)
        .emit(without_left_recursion(std::move(body), rule), builder_.start(rule),
              builder_.end(rule));
  }

  Expression alternatives() {
    if (++depth_ > max_nesting) fail(fmt::format("groups nested deeper than {}", max_nesting));
    std::vector<Expression> branches{terms()};
    while (take("|")) branches.push_back(terms());
    --depth_;
    return choice(std::move(branches));
  }

  Expression terms() {
    std::vector<Expression> parts;
    for (;;) {
      skip();
      if (at_ >= text_.size() || std::string_view("|)];%").find(peek()) != std::string_view::npos)
        break;
      if (begins_name(peek()) || peek() == '?' || peek() == '!') {
        if (at_definition()) break;
      }
      if (lark_ && take("->")) {  // an alias names the tree's node, not the text
        skip();
        name();
        continue;
      }
      parts.push_back(counted(item()));
    }
    return sequence(std::move(parts));
  }

  Expression item() {
    const char c = peek();
    if (begins_name(c)) {
      const std::string_view called = name();
      if (lark_ && peek() == '{') fail(fmt::format("the template {} is not supported", called));
      return rule(entry_of(called).rule);
    }
    switch (c) {
      case '(':
        return group(')');
      case '[':
        if (lark_) return optional(group(']'));
        ++at_;
        return characters(parse_class(text_, at_, where()));
      case '"':
      case '\'':
        return literal(c);
      case '/':
        return regex();
      case '.':
        ++at_;
        return characters(CodePoints::all());
      case '<':
        fail("a token in <> is not supported", "write its text as a literal");
      default:
        fail(fmt::format("'{}' was not expected", c));
    }
  }

  Expression group(char close) {
    ++at_;
    Expression inner = alternatives();
    skip();
    if (peek() != close) fail(fmt::format("a '{}' is missing", close));
    ++at_;
    return inner;
  }

  std::string where() { return fmt::format("{}: line {}", builder_.what(), line()); }

  Expression literal(char quote) {
    ++at_;
    std::vector<Expression> parts;
    std::string plain;
    while (peek() != quote) {
      if (at_ >= text_.size() || peek() == '\n') fail("a literal without its closing quote");
      CodePoints set;
      if (take("\\")) {
        set = parse_escape(text_, at_, where());
        if (set.single() < 0)
          fail("a class such as \\d inside a literal", "write [0-9] outside of it");
      } else {
        std::string_view rest = text_.substr(at_);
        uint32_t character = 0;
        if (!utf8::take(rest, character)) fail("bytes that are not UTF-8");
        at_ = text_.size() - rest.size();
        set = CodePoints::one(character);
      }
      utf8::append(plain, static_cast<uint32_t>(set.single()));
      parts.push_back(characters(std::move(set)));
    }
    ++at_;
    const bool any_case = peek() == 'i' && !in_name(peek(1));
    if (!any_case) return text(std::move(plain));
    ++at_;
    for (Expression& part : parts) part.set.add_other_case();
    return sequence(std::move(parts));
  }

  Expression regex() {
    const size_t begin = ++at_;
    bool in_class = false;
    for (; at_ < text_.size() && (in_class || text_[at_] != '/'); ++at_) {
      if (text_[at_] == '\n') fail("a /pattern/ without its closing slash");
      if (text_[at_] == '\\')
        ++at_;
      else if (text_[at_] == '[')
        in_class = true;
      else if (text_[at_] == ']')
        in_class = false;
    }
    if (at_ >= text_.size()) fail("a /pattern/ without its closing slash");
    const std::string_view pattern = text_.substr(begin, at_ - begin);
    ++at_;
    if (begins_name(peek())) fail("flags behind a /pattern/ are not supported");
    return parse_regex(pattern, where());
  }

  bool number(uint32_t& value) {
    const size_t begin = at_;
    uint64_t sum = 0;
    for (; peek() >= '0' && peek() <= '9'; ++at_) {
      sum = std::min<uint64_t>(sum * 10 + static_cast<uint64_t>(peek() - '0'), max_count + 1);
    }
    if (sum > max_count) fail(fmt::format("a repetition count above {}", max_count));
    value = static_cast<uint32_t>(sum);
    return at_ > begin;
  }

  // What may stand behind an item: * + ? {m,n}, or ~m..n in Lark.
  Expression counted(Expression part) {
    for (int marks = 0;; ++marks) {
      if (marks > 8) fail("too many repetition marks in a row");
      uint32_t low = 0, high = unbounded;
      const size_t begin = at_;
      if (lark_) {
        while (peek() == ' ' || peek() == '\t') ++at_;
      }
      if (take("*")) {
      } else if (take("+")) {
        low = 1;
      } else if (peek() == '?' && !at_definition()) {
        ++at_;
        high = 1;
      } else if (take("{")) {
        skip();
        if (!number(low) && peek() != ',') fail("a count was expected behind '{'");
        high = low;
        skip();
        if (take(",")) {
          skip();
          if (!number(high)) high = unbounded;
          skip();
        }
        if (!take("}")) fail("a '}' is missing");
      } else if (lark_ && take("~")) {
        skip();
        if (!number(low)) fail("a count was expected behind '~'");
        high = low;
        if (take("..") && !number(high)) fail("a count was expected behind '..'");
      } else {
        at_ = begin;
        return part;
      }
      if (low > high) fail("a repetition {m,n} with m above n");
      part = repeat(std::move(part), low, high);
    }
  }

  AutomatonBuilder& builder_;
  std::string_view text_;
  size_t at_ = 0;
  size_t counted_to_ = 0, lines_ = 0;  // line ends before counted_to_
  int depth_ = 0;
  bool lark_ = false;  // the rule at hand is written with ':'
  std::map<std::string, Entry, std::less<>> rules_;
};

}  // namespace

RuleId add_ebnf(AutomatonBuilder& builder, std::string_view text) {
  if (text.size() > max_ebnf_bytes) {
    throw_bad_input(fmt::format("{}: a grammar of {} bytes, the limit is {}", builder.what(),
                                text.size(), max_ebnf_bytes));
  }
  return Parser(builder, text).run();
}

}  // namespace dure::grammar
