// A recursive-descent reader of Oniguruma patterns.
#include "text/regex_syntax.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/utf8.h"

namespace dure::regex {
namespace {

using unicode::CodeSet;

constexpr int max_depth = 100;
constexpr size_t max_pattern = size_t{16} << 10;  // bytes
constexpr uint32_t max_repeat = 100000;           // Oniguruma's own limit

class Parser {
 public:
  Parser(std::string_view pattern, std::string_view what) : what_(what) {
    if (pattern.size() > max_pattern) fail("it is longer than 16 KiB");
    if (utf8::first_invalid(pattern) != pattern.size()) fail("it is not UTF-8");
    text_ = utf8::decode(pattern);
  }

  Node parse_all() {
    Node node = parse_alternatives(0);
    if (!at_end()) fail("a ')' without '('");
    return node;
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw_bad_input(fmt::format("{}: pattern cannot be read at character {}: {}", what_, at_, why),
                    "Patterns are those of Oniguruma without back references and conditionals.");
  }

  bool at_end() const { return at_ == text_.size(); }
  char32_t peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : 0;
  }
  bool take(char32_t c) {
    if (at_end() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool take(std::u32string_view word) {
    if (text_.compare(at_, word.size(), word) != 0) return false;
    at_ += word.size();
    return true;
  }

  static Node set_node(CodeSet set) {
    Node node;
    node.kind = Node::Kind::set;
    node.set = std::move(set);
    return node;
  }
  static Node assertion_node(Assertion assertion) {
    Node node;
    node.kind = Node::Kind::assertion;
    node.assertion = assertion;
    return node;
  }
  static Node wrap(Node::Kind kind, Node child) {
    Node node;
    node.kind = kind;
    node.children.push_back(std::move(child));
    return node;
  }

  Node parse_alternatives(int depth) {
    if (depth > max_depth) fail("groups are nested too deeply");
    Node node;
    node.kind = Node::Kind::alternate;
    do {
      node.children.push_back(parse_sequence(depth));
    } while (take(U'|'));
    return node.children.size() == 1 ? std::move(node.children.front()) : node;
  }

  Node parse_sequence(int depth) {
    Node node;
    node.kind = Node::Kind::sequence;
    while (!at_end() && peek() != U'|' && peek() != U')') {
      Node item = parse_quantified(depth);
      // Groups of plain text count as part of the text around them.
      if (item.kind == Node::Kind::sequence) {
        for (Node& child : item.children) node.children.push_back(std::move(child));
      } else if (item.kind != Node::Kind::empty) {
        node.children.push_back(std::move(item));
      }
    }
    check_multi_folds(node);
    if (node.children.empty()) return Node{};
    return node.children.size() == 1 ? std::move(node.children.front()) : node;
  }

  // Case-insensitive text in which "ss" would also have to match "ß" is refused, not half matched.
  void check_multi_folds(const Node& sequence) const {
    if (!ignore_case_) return;
    std::u32string run;
    const auto check = [&] {
      if (unicode::has_multi_fold(run))
        fail("case-insensitive text of which several letters equal one is not implemented");
      run.clear();
    };
    for (const Node& child : sequence.children) {
      const bool repeats = child.kind == Node::Kind::repeat;
      const Node& item = repeats ? child.children.front() : child;
      if (item.literal == 0) {
        check();
      } else if (repeats) {
        check();
        run.assign(std::clamp(child.min, 1u, 3u), item.literal);
        check();
      } else {
        run.push_back(item.literal);
      }
    }
    check();
  }

  Node parse_quantified(int depth) {
    Node atom = parse_atom(depth);
    while (!at_end()) {
      uint32_t min = 0;
      uint32_t max = 0;
      bool interval = false;
      if (take(U'*')) {
        max = unlimited;
      } else if (take(U'+')) {
        min = 1;
        max = unlimited;
      } else if (take(U'?')) {
        max = 1;
      } else if (peek() == U'{' && parse_interval(min, max)) {
        interval = true;
      } else {
        break;
      }
      if (atom.kind == Node::Kind::assertion || atom.kind == Node::Kind::look)
        fail("an assertion is repeated");
      Node repeat = wrap(Node::Kind::repeat, std::move(atom));
      repeat.min = min;
      repeat.max = max;
      const bool exact = interval && min == max;
      if (exact && take(U'?')) {
        repeat.min = 0;  // a{2}? is (?:a{2})? in this dialect
        repeat.max = 1;
        Node inner = wrap(Node::Kind::repeat, std::move(repeat.children.front()));
        inner.min = inner.max = min;
        repeat.children.front() = std::move(inner);
      } else if (take(U'?')) {
        repeat.greed = Greed::lazy;
      } else if (!interval && take(U'+')) {
        repeat.greed = Greed::possessive;
      }
      if (++quantifiers_ > max_depth) fail("too many repeated repeats");
      atom = std::move(repeat);
    }
    quantifiers_ = 0;
    return atom;
  }

  // {m}, {m,}, {,n}, {m,n}; anything else leaves '{' to be itself.
  bool parse_interval(uint32_t& min, uint32_t& max) {
    const size_t start = at_++;
    const auto number = [&](uint32_t& value) {
      const size_t first = at_;
      value = 0;
      while (peek() >= U'0' && peek() <= U'9') {
        value = value * 10 + static_cast<uint32_t>(text_[at_++] - U'0');
        if (value > max_repeat) fail("a repeat count is above 100000");
      }
      return at_ != first;
    };
    const bool has_min = number(min);
    bool has_max = has_min;
    max = min;
    if (take(U',')) {
      has_max = number(max);
      if (!has_max) max = unlimited;
    }
    if ((!has_min && !has_max) || !take(U'}')) {
      at_ = start;
      return false;
    }
    if (max < min) fail("a repeat {m,n} with m above n");
    return true;
  }

  Node literal(char32_t code) {
    Node node =
        set_node(ignore_case_ ? unicode::with_case_siblings(CodeSet::of(code)) : CodeSet::of(code));
    node.literal = code;
    return node;
  }

  Node parse_atom(int depth) {
    const char32_t c = text_[at_++];
    switch (c) {
      case U'(':
        return parse_group(depth + 1);
      case U'[':
        return set_node(parse_class(depth + 1));
      case U'\\':
        return parse_escape();
      case U'.':
        return set_node(dot_all_ ? *unicode::property("Any") : CodeSet::of(U'\n').complement());
      case U'^':
        return assertion_node(Assertion::line_start);
      case U'$':
        return assertion_node(Assertion::line_end);
      case U'*':
      case U'+':
      case U'?':
        fail("nothing to repeat");
      case U'{': {
        uint32_t min;
        uint32_t max;
        --at_;
        if (parse_interval(min, max)) fail("nothing to repeat");
        ++at_;
        return literal(c);
      }
      default:
        return literal(c);
    }
  }

  Node parse_group(int depth) {
    if (!take(U'?')) return close(parse_alternatives(depth));
    if (take(U':')) return close(parse_alternatives(depth));
    if (take(U'>')) return wrap(Node::Kind::atomic, close(parse_alternatives(depth)));
    if (take(U'=')) return look(depth, false, false);
    if (take(U'!')) return look(depth, false, true);
    if (take(U"<=")) return look(depth, true, false);
    if (take(U"<!")) return look(depth, true, true);
    if (take(U'<')) {  // a named group, of which nobody asks the name
      while (!at_end() && peek() != U'>') ++at_;
      if (!take(U'>')) fail("the name of a group does not end");
      return close(parse_alternatives(depth));
    }
    return parse_options(depth);
  }

  Node close(Node node) {
    if (!take(U')')) fail("a '(' without ')'");
    return node;
  }

  Node look(int depth, bool behind, bool negative) {
    Node node = wrap(Node::Kind::look, close(parse_alternatives(depth)));
    node.behind = behind;
    node.negative = negative;
    return node;
  }

  // (?i:...), (?i-m:...) and (?i) to the end of the group; i is case, m lets '.' match newlines.
  Node parse_options(int depth) {
    const bool old_case = ignore_case_;
    const bool old_dot = dot_all_;
    bool on = true;
    while (!at_end() && peek() != U':' && peek() != U')') {
      const char32_t c = text_[at_++];
      if (c == U'-')
        on = false;
      else if (c == U'i')
        ignore_case_ = on;
      else if (c == U'm')
        dot_all_ = on;
      else
        fail("this kind of group is not implemented");
    }
    const bool scoped = take(U':');
    if (!scoped && !take(U')')) fail("a group does not end");
    Node node = parse_alternatives(depth);
    ignore_case_ = old_case;
    dot_all_ = old_dot;
    return scoped ? close(std::move(node)) : node;
  }

  Node parse_escape() {
    if (at_end()) fail("a '\\' at the end");
    constexpr std::u32string_view names = U"AzZbB";
    constexpr Assertion assertions[] = {Assertion::text_start, Assertion::text_end,
                                        Assertion::text_end_or_newline, Assertion::word_edge,
                                        Assertion::word_inside};
    if (const size_t name = names.find(peek()); name != names.npos) {
      ++at_;
      return assertion_node(assertions[name]);
    }
    CodeSet set;
    if (escaped_set(set, unicode::word())) return set_node(std::move(set));
    return literal(escaped_character());
  }

  // \d \s \w \h and their opposites, \p{..} and \P{..}; `at_` is after the backslash.
  bool escaped_set(CodeSet& set, const CodeSet& word) {
    const char32_t c = peek();
    switch (c) {
      case U'd':
      case U'D':
        set = *unicode::property("Nd");
        break;
      case U's':
      case U'S':
        set = unicode::white_space();
        break;
      case U'w':
      case U'W':
        set = word;
        break;
      case U'h':
      case U'H':
        set = CodeSet({{U'0', U'9'}, {U'A', U'F'}, {U'a', U'f'}});
        break;
      case U'p':
      case U'P':
        if (peek(1) != U'{') return false;
        ++at_;
        set = named_property(c == U'P');
        return true;
      default:
        return false;
    }
    ++at_;
    if (c < U'a') set = set.complement();
    return true;
  }

  CodeSet named_property(bool negative) {
    take(U'{');
    if (take(U'^')) negative = !negative;
    std::string name;
    while (!at_end() && peek() != U'}') utf8::append(name, text_[at_++]);
    if (!take(U'}')) fail("\\p{ without '}'");
    const auto set = unicode::property(name);
    if (!set) fail(fmt::format("the property \\p{{{}}} is not implemented", name));
    return negative ? set->complement() : *set;
  }

  char32_t escaped_character() {
    const char32_t c = text_[at_++];
    constexpr std::u32string_view names = U"tnrfvae";
    constexpr std::u32string_view controls = U"\t\n\r\f\v\a\x1B";
    if (const size_t name = names.find(c); name != names.npos) return controls[name];
    if (c == U'u') return hexadecimal(4, 4);
    if (c == U'x') {
      if (!take(U'{')) return hexadecimal(1, 2);
      const char32_t code = hexadecimal(1, 8);
      if (!take(U'}')) fail("\\x{ without '}'");
      return code;
    }
    if (c == U'p' || c == U'P') return c;  // without braces, the letter itself
    const bool letter = (c >= U'a' && c <= U'z') || (c >= U'A' && c <= U'Z');
    if (letter || (c >= U'0' && c <= U'9')) {
      std::string name;
      utf8::append(name, c);
      fail(fmt::format("\\{} is not implemented", name));
    }
    return c;
  }

  char32_t hexadecimal(int min_digits, int max_digits) {
    uint64_t value = 0;
    int digits = 0;
    for (; digits < max_digits; ++digits) {
      const char32_t c = peek();
      if (c >= U'0' && c <= U'9')
        value = value * 16 + (c - U'0');
      else if (c >= U'a' && c <= U'f')
        value = value * 16 + (c - U'a' + 10);
      else if (c >= U'A' && c <= U'F')
        value = value * 16 + (c - U'A' + 10);
      else
        break;
      ++at_;
    }
    if (digits < min_digits) fail("too few hexadecimal digits");
    if (value > unicode::last_code || (value >= 0xD800 && value < 0xE000))
      fail("a number that is no character");
    if (max_digits == 2 && value >= 0x80) fail("\\x of a byte above 7f is not implemented");
    return static_cast<char32_t>(value);
  }

  // What stands between '[' and ']': ranges, sets, nested classes and &&.
  CodeSet parse_class(int depth, bool nested = false) {
    if (depth > max_depth) fail("classes are nested too deeply");
    const bool negative = take(U'^');
    CodeSet whole;            // the parts before the last &&, intersected
    bool intersects = false;  // whether there was a && yet
    std::vector<unicode::Range> part;
    bool first = true;
    for (;; first = false) {
      if (at_end()) fail("a '[' without ']'");
      if (peek() == U']') {
        if (!first) break;
        if (text_.find(U']', at_ + 1) == std::u32string::npos) fail("an empty class");
      }
      if (take(U"&&")) {
        whole = intersects ? whole.intersect(CodeSet(part)) : CodeSet(part);
        intersects = true;
        part.clear();
      } else {
        add_class_item(part, depth);
      }
    }
    take(U']');
    CodeSet set(std::move(part));
    if (intersects) set = whole.intersect(set);
    if (ignore_case_ && !nested) {
      if (!negative && unicode::has_multi_fold(set))
        fail("a case-insensitive class with letters that equal several is not implemented");
      set = unicode::with_case_siblings(set);
    }
    return negative ? set.complement() : set;
  }

  void add_class_item(std::vector<unicode::Range>& part, int depth) {
    const auto add = [&part](const CodeSet& set) {
      part.insert(part.end(), set.ranges().begin(), set.ranges().end());
    };
    if (peek() == U'[' && peek(1) == U':') fail("[:name:] is not implemented");
    if (take(U'[')) {
      add(parse_class(depth + 1, true));
      return;
    }
    CodeSet set;
    if (peek() == U'\\') {
      ++at_;
      if (at_end()) fail("a '\\' at the end");
      if (escaped_set(set, unicode::word_in_class())) {
        add(set);
        return;
      }
      --at_;
    }
    const char32_t low = class_character();
    char32_t high = low;
    if (peek() == U'-' && peek(1) != U']' && peek(1) != 0) {
      ++at_;
      if (peek() == U'[') fail("a range that ends in a class");
      if (peek() == U'\\') {
        ++at_;
        if (at_end() || escaped_set(set, unicode::word())) fail("a range that ends in a class");
        --at_;
      }
      high = class_character();
      if (high < low) fail("a range from the larger to the smaller character");
    }
    part.push_back({low, high});
  }

  char32_t class_character() {
    const char32_t c = text_[at_++];
    if (c != U'\\') return c;
    if (at_end()) fail("a '\\' at the end");
    if (take(U'b')) return U'\b';
    return escaped_character();
  }

  std::string_view what_;
  std::u32string text_;
  size_t at_ = 0;
  bool ignore_case_ = false;
  bool dot_all_ = false;
  int quantifiers_ = 0;
};

}  // namespace

Node parse(std::string_view pattern, std::string_view what) {
  return Parser(pattern, what).parse_all();
}

}  // namespace dure::regex
