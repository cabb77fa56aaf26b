// See automaton_builder.h.
#include "grammar/automaton_builder.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "grammar/automaton_analysis.h"
#include "grammar/limits.h"

namespace dure::grammar {

RuleId AutomatonBuilder::add_rule(std::string name) {
  if (made_.rules_.size() >= max_rules) {
    throw_bad_input(fmt::format("{}: more than {} rules", what_, max_rules));
  }
  const StateId start = add_state();
  const StateId end = add_state();
  made_.is_end_[end] = true;
  made_.rules_.push_back({.name = std::move(name), .start = start, .end = end});
  return static_cast<RuleId>(made_.rules_.size() - 1);
}

StateId AutomatonBuilder::add_state() {
  if (made_.call_of_.size() >= max_states) {
    throw_bad_input(fmt::format("{}: needs more than {} states", what_, max_states),
                    "shorten it, or use smaller counts");
  }
  made_.call_of_.push_back(none);
  made_.is_end_.push_back(false);
  return static_cast<StateId>(made_.call_of_.size() - 1);
}

void AutomatonBuilder::count_arc() {
  if (++arc_count_ > max_arcs) {
    throw_bad_input(fmt::format("{}: needs more than {} transitions", what_, max_arcs),
                    "shorten it, or use smaller counts");
  }
}

void AutomatonBuilder::add_bytes(StateId from, uint8_t low, uint8_t high, StateId to) {
  count_arc();
  arcs_.push_back({from, {low, high, to}});
}

void AutomatonBuilder::add_text(StateId from, std::string_view text, StateId to) {
  if (text.empty()) return add_epsilon(from, to);
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    const StateId next = i + 1 == text.size() ? to : add_state();
    add_bytes(from, byte, byte, next);
    from = next;
  }
}

void AutomatonBuilder::add_epsilon(StateId from, StateId to) {
  count_arc();
  epsilons_.push_back({from, to});
}

void AutomatonBuilder::add_call(StateId from, RuleId rule, uint32_t low, uint32_t high,
                                StateId to) {
  if (made_.call_of_[from] != none) {  // one call a state
    const StateId fresh = add_state();
    add_epsilon(from, fresh);
    from = fresh;
  }
  count_arc();
  made_.call_of_[from] = static_cast<uint32_t>(made_.calls_.size());
  made_.calls_.push_back(
      {.rule = rule, .low = low, .high = high, .to = to, .last = false, .small = false});
}

void AutomatonBuilder::add_choice(StateId from, std::vector<std::string> texts, StateId to) {
  std::sort(texts.begin(), texts.end());
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
  std::vector<StateId> path{from};  // path[n]: after n bytes of the text before
  std::string_view before;
  for (const std::string& text : texts) {
    const auto common = static_cast<size_t>(
        std::mismatch(before.begin(), before.end(), text.begin(), text.end()).first -
        before.begin());
    path.resize(common + 1);
    for (size_t i = common; i < text.size(); ++i) {
      const auto byte = static_cast<uint8_t>(text[i]);
      path.push_back(add_state());
      add_bytes(path[i], byte, byte, path[i + 1]);
    }
    add_epsilon(path.back(), to);
    before = text;
  }
}

void AutomatonBuilder::lay_out() {
  Automaton& out = made_;
  const size_t states = out.states();
  out.bytes_begin_.assign(states + 1, 0);
  out.epsilons_begin_.assign(states + 1, 0);
  for (const Arc& arc : arcs_) ++out.bytes_begin_[arc.from + 1];
  for (const Epsilon& arc : epsilons_) ++out.epsilons_begin_[arc.from + 1];
  for (size_t i = 0; i < states; ++i) {
    out.bytes_begin_[i + 1] += out.bytes_begin_[i];
    out.epsilons_begin_[i + 1] += out.epsilons_begin_[i];
  }
  out.bytes_.resize(arcs_.size());
  out.epsilons_.resize(epsilons_.size());
  std::vector<uint32_t> next(out.bytes_begin_.begin(), out.bytes_begin_.end() - 1);
  for (const Arc& arc : arcs_) out.bytes_[next[arc.from]++] = arc.arc;
  next.assign(out.epsilons_begin_.begin(), out.epsilons_begin_.end() - 1);
  for (const Epsilon& arc : epsilons_) out.epsilons_[next[arc.from]++] = arc.to;
  arcs_ = {};
  epsilons_ = {};
}

Automaton AutomatonBuilder::build(RuleId root) {
  lay_out();
  made_.root_ = root;
  AutomatonAnalysis(made_, what_).run();
  return std::move(made_);
}

}  // namespace dure::grammar
