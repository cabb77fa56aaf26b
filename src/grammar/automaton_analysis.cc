// See automaton_analysis.h. Everything here is linear in the automaton.
#include "grammar/automaton_analysis.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "grammar/limits.h"

namespace dure::grammar {
namespace {

// Lists of numbers by key, as one array.
class Groups {
 public:
  template <typename ForEach>
  Groups(size_t keys, ForEach&& for_each) : begin_(keys + 1, 0) {
    for_each([&](uint32_t key, uint32_t) { ++begin_[key + 1]; });
    for (size_t i = 0; i < keys; ++i) begin_[i + 1] += begin_[i];
    values_.resize(begin_.back());
    std::vector<uint32_t> next(begin_.begin(), begin_.end() - 1);
    for_each([&](uint32_t key, uint32_t value) { values_[next[key]++] = value; });
  }
  std::span<const uint32_t> operator[](uint32_t key) const {
    return {values_.data() + begin_[key], values_.data() + begin_[key + 1]};
  }

 private:
  std::vector<uint32_t> begin_, values_;
};

}  // namespace

AutomatonAnalysis::AutomatonAnalysis(Automaton& automaton, std::string_view what)
    : automaton_(automaton), what_(what) {}

void AutomatonAnalysis::run() {
  find_nullable();
  find_last_calls();
  find_heights();
  find_small_calls();
  refuse_left_recursion();
  find_classes();
}

// A state is empty-able if it reaches its rule's end without reading: backwards from the ends.
void AutomatonAnalysis::find_nullable() {
  Automaton& a = automaton_;
  const auto states = static_cast<uint32_t>(a.states());
  const Groups before(states, [&](auto&& put) {
    for (StateId s = 0; s < states; ++s) {
      for (const StateId to : a.epsilons(s)) put(to, s);
      if (a.call_of(s) != none && a.call(a.call_of(s)).low == 0) put(a.call(a.call_of(s)).to, s);
    }
  });
  const auto for_each_call = [&](auto&& put) {
    for (StateId s = 0; s < states; ++s) {
      if (a.call_of(s) != none) put(a.call(a.call_of(s)).rule, s);
    }
  };
  const Groups callers(a.rules_.size(), for_each_call);
  const Groups calls_to(states, [&](auto&& put) {
    for (StateId s = 0; s < states; ++s) {
      if (a.call_of(s) != none) put(a.call(a.call_of(s)).to, s);
    }
  });
  std::vector<uint32_t> rule_of_start(states, none);
  for (RuleId r = 0; r < a.rules_.size(); ++r) rule_of_start[a.rules_[r].start] = r;

  std::vector<bool> empty(states, false);
  std::vector<StateId> work;
  const auto mark = [&](StateId s) {
    if (empty[s]) return;
    empty[s] = true;
    work.push_back(s);
  };
  for (const Rule& rule : a.rules_) mark(rule.end);
  while (!work.empty()) {
    const StateId s = work.back();
    work.pop_back();
    for (const StateId from : before[s]) mark(from);
    for (const StateId from : calls_to[s]) {
      if (a.rules_[a.call(a.call_of(from)).rule].nullable) mark(from);
    }
    const RuleId rule = rule_of_start[s];
    if (rule == none || a.rules_[rule].nullable) continue;
    a.rules_[rule].nullable = true;
    for (const StateId from : callers[rule]) {
      if (empty[a.call(a.call_of(from)).to]) mark(from);
    }
  }
  // A call reads at least one byte each time, so what may be empty need not be called at all.
  for (Call& call : a.calls_) {
    if (a.rules_[call.rule].nullable) call.low = 0;
  }
}

void AutomatonAnalysis::find_last_calls() {
  Automaton& a = automaton_;
  for (Call& call : a.calls_) {
    if (call.high != 1) continue;
    StateId at = call.to;
    for (int hops = 0; hops < 8 && !a.is_end(at); ++hops) {
      if (!a.bytes(at).empty() || a.call_of(at) != none || a.epsilons(at).size() != 1) break;
      at = a.epsilons(at)[0];
    }
    call.last = a.is_end(at);
  }
}

// Knuth's generalisation of Dijkstra's algorithm: states are settled in order of their height.
void AutomatonAnalysis::find_heights() {
  Automaton& a = automaton_;
  const auto states = static_cast<uint32_t>(a.states());
  const Groups before(states, [&](auto&& put) {
    for (StateId s = 0; s < states; ++s) {
      for (const StateId to : a.epsilons(s)) put(to, s);
      for (const ByteArc& arc : a.bytes(s)) put(arc.to, s);
    }
  });
  const Groups callers(a.rules_.size(), [&](auto&& put) {
    for (StateId s = 0; s < states; ++s) {
      if (a.call_of(s) != none) put(a.call(a.call_of(s)).rule, s);
    }
  });
  const Groups calls_to(states, [&](auto&& put) {
    for (StateId s = 0; s < states; ++s) {
      if (a.call_of(s) != none) put(a.call(a.call_of(s)).to, s);
    }
  });
  std::vector<uint32_t> rule_of_start(states, none);
  for (RuleId r = 0; r < a.rules_.size(); ++r) rule_of_start[a.rules_[r].start] = r;

  a.heights_.assign(states, unbounded);
  std::vector<std::vector<StateId>> buckets(1);
  const auto lower = [&](StateId s, uint32_t height) {
    if (height >= a.heights_[s]) return;
    a.heights_[s] = height;
    if (buckets.size() <= height) buckets.resize(height + 1);
    buckets[height].push_back(s);
  };
  const auto lower_caller = [&](StateId s) {
    const Call& call = a.call(a.call_of(s));
    const uint32_t inner = a.heights_[a.rules_[call.rule].start];
    const uint32_t after = a.heights_[call.to];
    if (after == unbounded) return;
    if (call.low == 0) return lower(s, after);
    if (inner != unbounded) lower(s, std::max(inner + 1, after));
  };
  for (const Rule& rule : a.rules_) lower(rule.end, 0);
  std::vector<bool> settled(states, false);
  for (uint32_t height = 0; height < buckets.size(); ++height) {
    while (!buckets[height].empty()) {
      const StateId s = buckets[height].back();
      buckets[height].pop_back();
      if (settled[s]) continue;
      settled[s] = true;
      a.tallest_ = std::max(a.tallest_, height);
      for (const StateId from : before[s]) lower(from, height);
      for (const StateId from : calls_to[s]) lower_caller(from);
      if (rule_of_start[s] != none) {
        for (const StateId from : callers[rule_of_start[s]]) lower_caller(from);
      }
    }
  }
  const uint32_t root = a.heights_[a.rules_[a.root_].start];
  if (root == unbounded) {
    throw_bad_input(fmt::format("{}: no text at all matches it", what_),
                    "a rule that always calls itself, or a class of no characters, never ends");
  }
  a.max_depth_ = root + spare_depth;
}

// The longest text from each state to its rule's end, in bytes, as far as that is small: values
// grow along loops until they reach the limit.
void AutomatonAnalysis::find_small_calls() {
  constexpr uint64_t long_text = 17;  // longer than a character in any of JSON's spellings
  Automaton& a = automaton_;
  const auto states = static_cast<uint32_t>(a.states());
  const Groups before(states, [&](auto&& put) {
    for (StateId s = 0; s < states; ++s) {
      for (const StateId to : a.epsilons(s)) put(to, s);
      for (const ByteArc& arc : a.bytes(s)) put(arc.to, s);
      if (a.call_of(s) != none) {
        put(a.call(a.call_of(s)).to, s);
        put(a.rules_[a.call(a.call_of(s)).rule].start, s);
      }
    }
  });
  std::vector<uint64_t> longest(states, 0);
  const auto length_from = [&](StateId s) {
    uint64_t length = 0;
    for (const StateId to : a.epsilons(s)) length = std::max(length, longest[to]);
    for (const ByteArc& arc : a.bytes(s)) length = std::max(length, 1 + longest[arc.to]);
    if (a.call_of(s) != none) {
      const Call& call = a.call(a.call_of(s));
      length = std::max(length, call.high * longest[a.rules_[call.rule].start] + longest[call.to]);
    }
    return std::min(length, long_text);
  };
  std::vector<StateId> work(states);
  for (StateId s = 0; s < states; ++s) work[s] = s;
  while (!work.empty()) {
    const StateId s = work.back();
    work.pop_back();
    const uint64_t length = length_from(s);
    if (length == longest[s]) continue;
    longest[s] = length;
    for (const StateId from : before[s]) work.push_back(from);
  }
  for (Call& call : a.calls_) {
    const bool counts = call.low != 1 || call.high != 1;
    call.small = counts || longest[a.rules_[call.rule].start] < long_text;
  }
}

std::vector<RuleId> AutomatonAnalysis::first_calls(RuleId rule, std::vector<uint32_t>& seen) const {
  const Automaton& a = automaton_;
  std::vector<RuleId> found;
  std::vector<StateId> work{a.rules_[rule].start};
  const auto visit = [&](StateId s) {
    if (seen[s] == rule) return;
    seen[s] = rule;
    work.push_back(s);
  };
  while (!work.empty()) {
    const StateId s = work.back();
    work.pop_back();
    for (const StateId to : a.epsilons(s)) visit(to);
    if (a.call_of(s) == none) continue;
    const Call& call = a.call(a.call_of(s));
    if (call.high > 0) found.push_back(call.rule);
    if (call.low == 0) visit(call.to);
  }
  return found;
}

// Depth first over "may begin with"; a way back to a rule on the path is left recursion.
void AutomatonAnalysis::refuse_left_recursion() const {
  const Automaton& a = automaton_;
  enum class Mark : uint8_t { fresh, on_path, done };
  struct Visit {
    RuleId rule;
    std::vector<RuleId> calls;
    size_t next = 0;
  };
  std::vector<Mark> marks(a.rules_.size(), Mark::fresh);
  std::vector<uint32_t> seen(a.states(), none);
  for (RuleId first = 0; first < a.rules_.size(); ++first) {
    if (marks[first] != Mark::fresh) continue;
    std::vector<Visit> path{{first, first_calls(first, seen)}};
    marks[first] = Mark::on_path;
    while (!path.empty()) {
      Visit& top = path.back();
      if (top.next == top.calls.size()) {
        marks[top.rule] = Mark::done;
        path.pop_back();
        continue;
      }
      const RuleId next = top.calls[top.next++];
      if (marks[next] == Mark::fresh) {
        marks[next] = Mark::on_path;
        path.push_back({next, first_calls(next, seen)});
      } else if (marks[next] == Mark::on_path) {
        size_t from = path.size() - 1;
        while (path[from].rule != next) --from;
        std::string circle;
        for (size_t i = from; i < path.size(); ++i) circle += a.rules_[path[i].rule].name + " -> ";
        throw_bad_input(
            fmt::format("{}: left recursion: {:.300}{}", what_, circle, a.rules_[next].name),
            "let the rule read something before it comes back to itself");
      }
    }
  }
}

void AutomatonAnalysis::find_classes() {
  Automaton& a = automaton_;
  std::array<bool, 257> cut{};  // a class begins here
  cut[0] = true;
  for (const ByteArc& arc : a.bytes_) {
    cut[arc.low] = true;
    cut[arc.high + 1] = true;
  }
  for (int byte = 0; byte < 256; ++byte) {
    if (cut[static_cast<size_t>(byte)]) a.byte_of_class_.push_back(static_cast<uint8_t>(byte));
    a.class_of_byte_[static_cast<size_t>(byte)] = static_cast<uint8_t>(a.byte_of_class_.size() - 1);
  }
}

}  // namespace dure::grammar
