// See name_pattern.h: a recursive descent parser makes steps of a machine that is in many states
// at once (Thompson 1968).
#include "model/name_pattern.h"

#include <tuple>
#include <utility>

namespace dure {

class NamePatternParser {
 public:
  using Step = NamePattern::Step;
  using Kind = NamePattern::Kind;
  using Steps = std::vector<Step>;

  explicit NamePatternParser(std::string_view text) : text_(text) {}

  std::optional<NamePattern> run() {
    NamePattern pattern;
    pattern.steps_ = alternatives(0);
    if (failed_ || at_ != text_.size()) return std::nullopt;
    pattern.steps_.push_back({});
    return pattern;
  }

 private:
  static constexpr size_t most_steps = 20'000;
  static constexpr int deepest = 32;
  static constexpr int most_repeats = 64;

  bool next_is(char c) const { return at_ < text_.size() && text_[at_] == c; }
  bool take(char c) {
    if (!next_is(c)) return false;
    ++at_;
    return true;
  }
  Steps fail() {
    failed_ = true;
    return {};
  }

  // `more` behind `steps`; all targets are absolute within their own list until then.
  void append(Steps& steps, const Steps& more) {
    const auto shift = static_cast<uint32_t>(steps.size());
    if (steps.size() + more.size() > most_steps) {
      failed_ = true;
      return;
    }
    for (Step step : more) {
      step.to += shift;
      step.other += shift;
      steps.push_back(step);
    }
  }
  static Step split(size_t to, size_t other) {
    return {Kind::split, static_cast<uint32_t>(to), static_cast<uint32_t>(other), {}};
  }
  static Step jump(size_t to) { return {Kind::jump, static_cast<uint32_t>(to), 0, {}}; }

  Steps alternatives(int depth) {
    if (depth > deepest) return fail();
    Steps steps = sequence(depth);
    while (!failed_ && take('|')) {
      const Steps other = sequence(depth);
      Steps both = {split(1, steps.size() + 2)};
      append(both, steps);
      both.push_back(jump(both.size() + 1 + other.size()));
      append(both, other);
      steps = std::move(both);
    }
    return steps;
  }

  Steps sequence(int depth) {
    Steps steps;
    while (!failed_ && at_ < text_.size() && !next_is('|') && !next_is(')')) {
      append(steps, repeated(one(depth)));
    }
    return steps;
  }

  Steps one(int depth) {
    if (take('(')) {
      if (take('?') && !take(':')) return fail();
      Steps steps = alternatives(depth + 1);
      return take(')') ? steps : fail();
    }
    if (take('^')) return {{Kind::begin, 0, 0, {}}};
    if (take('$')) return {{Kind::end, 0, 0, {}}};
    Step step{Kind::character, 0, 0, {}};
    if (take('.')) {
      step.characters.set();
    } else if (take('[')) {
      step.characters = bracket();
    } else if (take('\\')) {
      step.characters = escaped();
    } else if (next_is('*') || next_is('+') || next_is('?') || next_is('{')) {
      return fail();
    } else {
      step.characters.set(static_cast<unsigned char>(text_[at_++]));
    }
    return {step};
  }

  std::bitset<256> escaped() {
    std::bitset<256> set;
    if (at_ >= text_.size()) {
      failed_ = true;
      return set;
    }
    const char c = text_[at_++];
    const auto range = [&set](char first, char last) {
      for (char each = first; each <= last; ++each) set.set(static_cast<unsigned char>(each));
    };
    if (c == 'd' || c == 'w' || c == 'D' || c == 'W') {
      range('0', '9');
      if (c == 'w' || c == 'W') {
        range('a', 'z');
        range('A', 'Z');
        set.set('_');
      }
      return c == 'D' || c == 'W' ? ~set : set;
    }
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (letter) failed_ = true;  // \b, \1 …
    set.set(static_cast<unsigned char>(c));
    return set;
  }

  std::bitset<256> bracket() {
    std::bitset<256> set;
    const bool others = take('^');
    bool first = true;
    while (at_ < text_.size() && (first || !next_is(']'))) {
      first = false;
      if (take('\\')) {
        set |= escaped();
        continue;
      }
      const auto from = static_cast<unsigned char>(text_[at_++]);
      auto to = from;
      if (next_is('-') && at_ + 1 < text_.size() && text_[at_ + 1] != ']') {
        to = static_cast<unsigned char>(text_[at_ + 1]);
        at_ += 2;
      }
      for (unsigned each = from; each <= to; ++each) set.set(each);
    }
    if (!take(']')) failed_ = true;
    return others ? ~set : set;
  }

  // {3}, {1,2}, {2,}: least and most; most below 0: any number.
  std::optional<std::pair<int, int>> braces() {
    const auto number = [this](int otherwise) {
      if (at_ >= text_.size() || text_[at_] < '0' || text_[at_] > '9') return otherwise;
      int value = 0;
      while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9' &&
             value <= most_repeats) {
        value = value * 10 + (text_[at_++] - '0');
      }
      return value;
    };
    const int least = number(0);
    const int most = take(',') ? number(-1) : least;
    if (!take('}') || least > most_repeats || most > most_repeats) return std::nullopt;
    return std::pair{least, most};
  }

  Steps repeated(Steps steps) {
    while (!failed_) {
      int least = 0;
      int most = -1;
      if (take('?')) {
        most = 1;
      } else if (take('+')) {
        least = 1;
      } else if (take('{')) {
        const auto counts = braces();
        if (!counts) return fail();
        std::tie(least, most) = *counts;
      } else if (!take('*')) {
        return steps;
      }
      if (!take('?')) take('+');  // lazy and possessive: some match is asked for, not the longest
      steps = times(steps, least, most);
    }
    return steps;
  }

  Steps times(const Steps& once, int least, int most) {
    Steps steps;
    for (int i = 0; i < least; ++i) append(steps, once);
    if (most < 0) {
      Steps loop = {split(1, once.size() + 2)};
      append(loop, once);
      loop.push_back(jump(0));
      append(steps, loop);
      return steps;
    }
    for (int i = least; i < most; ++i) {
      Steps maybe = {split(1, once.size() + 1)};
      append(maybe, once);
      append(steps, maybe);
    }
    return steps;
  }

  std::string_view text_;
  size_t at_ = 0;
  bool failed_ = false;
};

std::optional<NamePattern> NamePattern::parse(std::string_view expression) {
  constexpr size_t longest = 4096;
  if (expression.size() > longest) return std::nullopt;
  return NamePatternParser(expression).run();
}

// All states that need no further character, and only those that take one or end.
void NamePattern::reach(uint32_t at, std::string_view name, size_t position,
                        std::vector<bool>& seen, std::vector<uint32_t>& states) const {
  std::vector<uint32_t> open = {at};
  while (!open.empty()) {
    const uint32_t state = open.back();
    open.pop_back();
    if (seen[state]) continue;
    seen[state] = true;
    const Step& step = steps_[state];
    switch (step.kind) {
      case Kind::split:
        open.push_back(step.other);
        [[fallthrough]];
      case Kind::jump:
        open.push_back(step.to);
        break;
      case Kind::begin:
        if (position == 0) open.push_back(state + 1);
        break;
      case Kind::end:
        if (position == name.size()) open.push_back(state + 1);
        break;
      default:
        states.push_back(state);
    }
  }
}

bool NamePattern::matches(std::string_view name) const {
  std::vector<uint32_t> states;
  std::vector<bool> seen(steps_.size());
  reach(0, name, 0, seen, states);
  for (size_t position = 0;; ++position) {
    std::vector<uint32_t> next;
    seen.assign(steps_.size(), false);
    for (const uint32_t state : states) {
      const Step& step = steps_[state];
      if (step.kind == Kind::match) return true;
      if (position < name.size() && step.characters[static_cast<unsigned char>(name[position])]) {
        reach(state + 1, name, position + 1, seen, next);
      }
    }
    if (next.empty()) return false;
    states = std::move(next);
  }
}

}  // namespace dure
