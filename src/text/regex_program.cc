// From the tree of a pattern to instructions, character classes and first-character masks.
#include "text/regex_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "base/error.h"

namespace dure::regex {
namespace {

using unicode::CodeSet;

constexpr size_t max_code = 10000;  // instructions
constexpr size_t max_sets = 250;
constexpr size_t max_entries = 64;

[[noreturn]] void refuse(std::string_view what, std::string_view why) {
  throw_bad_input(fmt::format("{}: {}", what, why), "Use a simpler pattern.");
}

// What a match can start with; `empty` if it may also be of no character.
struct First {
  CodeSet set;
  bool empty = false;
};

First first_of(const Node& node) {
  switch (node.kind) {
    case Node::Kind::set:
      return {node.set, false};
    case Node::Kind::sequence: {
      First out{{}, true};
      for (const Node& child : node.children) {
        const First next = first_of(child);
        out.set = out.set.unite(next.set);
        out.empty = next.empty;
        if (!out.empty) break;
      }
      return out;
    }
    case Node::Kind::alternate: {
      First out;
      for (const Node& child : node.children) {
        const First next = first_of(child);
        out.set = out.set.unite(next.set);
        out.empty = out.empty || next.empty;
      }
      return out;
    }
    case Node::Kind::repeat: {
      First out = first_of(node.children.front());
      out.empty = out.empty || node.min == 0;
      if (node.max == 0) out.set = CodeSet();
      return out;
    }
    case Node::Kind::atomic:
      return first_of(node.children.front());
    case Node::Kind::empty:
    case Node::Kind::look:
    case Node::Kind::assertion:
      break;
  }
  return {{}, true};
}

// The number of characters that every match of `node` has, if it is always the same.
std::optional<uint32_t> fixed_length(const Node& node) {
  switch (node.kind) {
    case Node::Kind::set:
      return 1;
    case Node::Kind::sequence: {
      uint32_t sum = 0;
      for (const Node& child : node.children) {
        const auto length = fixed_length(child);
        if (!length) return {};
        sum += *length;
      }
      return sum;
    }
    case Node::Kind::alternate: {
      const auto length = fixed_length(node.children.front());
      for (const Node& child : node.children)
        if (fixed_length(child) != length) return {};
      return length;
    }
    case Node::Kind::repeat: {
      const auto length = fixed_length(node.children.front());
      if (!length || node.min != node.max || uint64_t{*length} * node.min > 1000) return {};
      return *length * node.min;
    }
    case Node::Kind::atomic:
      return fixed_length(node.children.front());
    case Node::Kind::empty:
    case Node::Kind::look:
    case Node::Kind::assertion:
      break;
  }
  return 0;
}

class Compiler {
 public:
  explicit Compiler(std::string_view what) : what_(what) {}

  Program run(const Node& node) {
    program_.word_set = set_index(unicode::word());
    program_.newline_set = set_index(CodeSet::of(U'\n'));
    const bool split = node.kind == Node::Kind::alternate && node.children.size() <= max_entries;
    const size_t count = split ? node.children.size() : 1;
    std::vector<First> firsts;
    for (size_t i = 0; i < count; ++i) {
      const Node& alternative = split ? node.children[i] : node;
      program_.entries.push_back(here());
      emit(alternative);
      add(Op::accept);
      firsts.push_back(first_of(alternative));
    }
    const size_t used = sets_.size();
    for (const First& first : firsts) set_index(first.set);
    build_classes();
    program_.candidates.assign(256, 0);
    for (size_t i = 0; i < count; ++i) {
      const ClassSet& members = class_sets_[set_index(firsts[i].set)];
      for (size_t c = 0; c < 256; ++c)
        if (firsts[i].empty || members[c]) program_.candidates[c] |= uint64_t{1} << i;
      if (firsts[i].empty) program_.at_end |= uint64_t{1} << i;
    }
    program_.sets.assign(class_sets_.begin(), class_sets_.begin() + static_cast<long>(used));
    return std::move(program_);
  }

 private:
  uint32_t here() const { return static_cast<uint32_t>(program_.code.size()); }

  uint32_t add(Op op, uint8_t set = 0, uint32_t x = 0, uint32_t y = 0) {
    if (program_.code.size() >= max_code) refuse(what_, "the pattern is too large");
    program_.code.push_back({op, set, x, y});
    return here() - 1;
  }

  uint8_t set_index(const CodeSet& set) {
    const auto found = std::find(sets_.begin(), sets_.end(), set);
    if (found != sets_.end()) return static_cast<uint8_t>(found - sets_.begin());
    if (sets_.size() >= max_sets) refuse(what_, "the pattern has too many different characters");
    sets_.push_back(set);
    return static_cast<uint8_t>(sets_.size() - 1);
  }

  void emit(const Node& node) {
    switch (node.kind) {
      case Node::Kind::empty:
        break;
      case Node::Kind::set:
        add(Op::set, set_index(node.set));
        break;
      case Node::Kind::sequence:
        for (const Node& child : node.children) emit(child);
        break;
      case Node::Kind::alternate:
        emit_alternatives(node);
        break;
      case Node::Kind::repeat:
        emit_repeat(node);
        break;
      case Node::Kind::look:
        emit_look(node);
        break;
      case Node::Kind::atomic:
        add(Op::guard);
        emit(node.children.front());
        add(Op::commit);
        break;
      case Node::Kind::assertion:
        add(Op::assertion, 0, static_cast<uint32_t>(node.assertion));
        break;
    }
  }

  using Emit = void (Compiler::*)(const Node&);

  void emit_alternatives(const Node& node, Emit emit_one = &Compiler::emit) {
    std::vector<uint32_t> jumps;
    for (size_t i = 0; i < node.children.size(); ++i) {
      const bool last = i + 1 == node.children.size();
      const uint32_t split = last ? 0 : add(Op::split, 0, here() + 1);
      (this->*emit_one)(node.children[i]);
      if (last) break;
      jumps.push_back(add(Op::jump));
      program_.code[split].y = here();
    }
    for (const uint32_t jump : jumps) program_.code[jump].x = here();
  }

  void emit_repeat(const Node& node) {
    const Node& child = node.children.front();
    if (child.kind == Node::Kind::set) {
      const Op op = node.greed == Greed::greedy ? Op::loop_greedy
                    : node.greed == Greed::lazy ? Op::loop_lazy
                                                : Op::loop_possessive;
      add(op, set_index(child.set), node.min, node.max);
      return;
    }
    const bool possessive = node.greed == Greed::possessive;
    if (possessive) add(Op::guard);
    for (uint32_t i = 0; i < node.min; ++i) {
      const uint32_t before = here();
      emit(child);
      if (here() == before) break;  // nothing, however often
    }
    if (node.max == unlimited)
      emit_star(child, node.greed == Greed::lazy);
    else
      emit_optional(child, node.max - node.min, node.greed == Greed::lazy);
    if (possessive) add(Op::commit);
  }

  void choose(uint32_t split, bool lazy, uint32_t into, uint32_t past) {
    program_.code[split].x = lazy ? past : into;
    program_.code[split].y = lazy ? into : past;
  }

  void emit_star(const Node& child, bool lazy) {
    const uint32_t split = add(Op::split);
    const bool may_be_empty = first_of(child).empty;
    const uint32_t slot = program_.slots;
    if (may_be_empty) {
      ++program_.slots;
      add(Op::mark, 0, slot);
    }
    emit(child);
    const uint32_t stuck = may_be_empty ? add(Op::leave_if_stuck, 0, slot) : 0;
    add(Op::jump, 0, split);
    if (may_be_empty) program_.code[stuck].y = here();
    choose(split, lazy, split + 1, here());
  }

  void emit_optional(const Node& child, uint32_t times, bool lazy) {
    std::vector<uint32_t> splits;
    for (uint32_t i = 0; i < times; ++i) {
      splits.push_back(add(Op::split));
      const uint32_t before = here();
      emit(child);
      if (here() == before) break;
    }
    for (const uint32_t split : splits) choose(split, lazy, split + 1, here());
  }

  void emit_look(const Node& node) {
    const Node& child = node.children.front();
    const uint32_t begin = add(node.negative ? Op::refuse : Op::guard);
    if (node.behind && child.kind == Node::Kind::alternate) {
      emit_alternatives(child, &Compiler::emit_behind);  // each has a length of its own
    } else if (node.behind) {
      emit_behind(child);
    } else {
      emit(child);
    }
    add(node.negative ? Op::refuted : Op::seen);
    if (node.negative) program_.code[begin].x = here();
  }

  void emit_behind(const Node& node) {
    const auto length = fixed_length(node);
    if (!length) refuse(what_, "a look behind of no fixed length is not implemented");
    add(Op::back, 0, *length);
    emit(node);
  }

  // Cuts all code points into intervals that no set divides, and numbers the distinct patterns of
  // membership.
  void build_classes() {
    std::vector<char32_t> starts{0};
    for (const CodeSet& set : sets_) {
      for (const unicode::Range& range : set.ranges()) {
        starts.push_back(range.first);
        if (range.last < unicode::last_code) starts.push_back(range.last + 1);
      }
    }
    std::sort(starts.begin(), starts.end());
    starts.erase(std::unique(starts.begin(), starts.end()), starts.end());
    std::vector<std::string> membership(starts.size(), std::string(sets_.size(), '0'));
    for (size_t s = 0; s < sets_.size(); ++s) {
      for (const unicode::Range& range : sets_[s].ranges()) {
        auto at = std::lower_bound(starts.begin(), starts.end(), range.first);
        for (; at != starts.end() && *at <= range.last; ++at)
          membership[static_cast<size_t>(at - starts.begin())][s] = '1';
      }
    }
    class_sets_.assign(sets_.size(), ClassSet{});
    std::map<std::string, uint8_t> numbers;
    std::vector<uint8_t> interval_class;
    for (const std::string& members : membership) {
      if (numbers.size() >= 256 && !numbers.contains(members))
        refuse(what_, "the pattern has too many different classes of characters");
      const auto number =
          numbers.emplace(members, static_cast<uint8_t>(numbers.size())).first->second;
      interval_class.push_back(number);
      for (size_t s = 0; s < sets_.size(); ++s) class_sets_[s][number] = members[s] == '1';
    }
    fill_pages(starts, interval_class);
  }

  void fill_pages(const std::vector<char32_t>& starts, const std::vector<uint8_t>& of) {
    std::map<std::string, uint16_t> known;
    size_t interval = 0;
    for (char32_t page = 0; page <= unicode::last_code >> 8; ++page) {
      std::string leaf(256, '\0');
      for (char32_t i = 0; i < 256; ++i) {
        while (interval + 1 < starts.size() && starts[interval + 1] <= (page << 8 | i)) ++interval;
        leaf[i] = static_cast<char>(of[interval]);
      }
      const auto [entry, fresh] = known.emplace(leaf, static_cast<uint16_t>(known.size()));
      if (fresh)
        program_.classes.insert(program_.classes.end(), entry->first.begin(), entry->first.end());
      program_.pages.push_back(entry->second);
    }
  }

  std::string_view what_;
  Program program_;
  std::vector<CodeSet> sets_;
  std::vector<ClassSet> class_sets_;
};

}  // namespace

Program compile(const Node& node, std::string_view what) {
  return Compiler(what).run(node);
}

}  // namespace dure::regex
