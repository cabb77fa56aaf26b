// The backtracking matcher over character classes.
#include "text/regex.h"

#include <fmt/format.h>

#include <bit>

#include "base/error.h"
#include "base/utf8.h"
#include "text/regex_program.h"

namespace dure {
namespace {

using regex::Assertion;
using regex::Instruction;
using regex::Op;
using regex::Program;
using Choice = Regex::Scratch::Choice;

// A choice is an instruction to go on at, or one of these.
constexpr uint32_t restore_slot = UINT32_MAX;    // position: slot, other: old value
constexpr uint32_t guard_mark = UINT32_MAX - 1;  // position: where the guarded part began
constexpr uint32_t shorter_loop = 0x40000000;    // bit: loop at pc may give back characters
constexpr uint32_t longer_loop = 0x80000000;     // bit: lazy loop at pc may take another
constexpr uint32_t negative_look = 0xC0000000;   // bits: begin of a negative look
constexpr uint32_t kind_bits = 0xC0000000;
constexpr size_t step_base = 10'000'000;  // work allowed per call, plus so much per character
constexpr size_t steps_per_character = 500;
constexpr size_t choice_base = size_t{1} << 20;

class Matcher {
 public:
  Matcher(const Program& program, Regex::Scratch& scratch, std::string_view what)
      : program_(program),
        scratch_(scratch),
        what_(what),
        classes_(scratch.classes.data()),
        size_(static_cast<uint32_t>(scratch.classes.size())),
        steps_left_(step_base + steps_per_character * scratch.classes.size()),
        max_choices_(choice_base + 2 * scratch.classes.size()) {
    scratch_.slots.assign(program.slots, 0);
  }

  // The end of the leftmost match at `begin`, if there is one.
  bool match_at(uint32_t begin, uint32_t& end) {
    uint64_t entries = begin < size_ ? program_.candidates[classes_[begin]] : program_.at_end;
    for (; entries != 0; entries &= entries - 1) {
      if (run(program_.entries[static_cast<size_t>(std::countr_zero(entries))], begin, end))
        return true;
    }
    return false;
  }

 private:
  void push(uint32_t kind_or_pc, uint32_t position, uint32_t other) {
    if (scratch_.choices.size() >= max_choices_) give_up();
    scratch_.choices.push_back({kind_or_pc, position, other});
  }

  void count(size_t steps) {
    if (steps > steps_left_) give_up();
    steps_left_ -= steps;
  }

  [[noreturn]] void give_up() const {
    throw_bad_input(fmt::format("{}: the pattern takes too many steps on this text", what_),
                    "It backtracks without end; the tokenizer.json needs a simpler pattern.");
  }

  // How many characters of `set` follow `position`, at most `limit`.
  uint32_t span(const regex::ClassSet& set, uint32_t position, uint32_t limit) {
    const uint32_t stop = limit < size_ - position ? position + limit : size_;
    uint32_t at = position;
    while (at < stop && set[classes_[at]]) ++at;
    count(at - position);
    return at - position;
  }

  bool run(uint32_t pc, uint32_t position, uint32_t& end) {
    scratch_.choices.clear();
    for (;;) {
      count(1);
      if (!step(pc, position)) {
        if (accepted_) {
          accepted_ = false;
          end = position;
          return true;
        }
        if (!backtrack(pc, position)) return false;
      }
    }
  }

  // One instruction; false if it failed (or accepted).
  bool step(uint32_t& pc, uint32_t& position) {
    const Instruction& in = program_.code[pc];
    const regex::ClassSet& set = program_.sets[in.set];
    switch (in.op) {
      case Op::set:
        if (position == size_ || !set[classes_[position]]) return false;
        ++position;
        break;
      case Op::loop_greedy: {
        const uint32_t taken = span(set, position, in.y);
        if (taken < in.x) return false;
        if (taken > in.x) push(pc | shorter_loop, position + taken, position + in.x);
        position += taken;
        break;
      }
      case Op::loop_lazy:
        if (span(set, position, in.x) < in.x) return false;
        position += in.x;
        if (in.y > in.x) push(pc | longer_loop, position, in.y - in.x);
        break;
      case Op::loop_possessive: {
        const uint32_t taken = span(set, position, in.y);
        if (taken < in.x) return false;
        position += taken;
        break;
      }
      case Op::split:
        push(in.y, position, 0);
        pc = in.x;
        return true;
      case Op::jump:
        pc = in.x;
        return true;
      case Op::mark:
        push(restore_slot, in.x, scratch_.slots[in.x]);
        scratch_.slots[in.x] = position;
        break;
      case Op::leave_if_stuck:
        if (scratch_.slots[in.x] == position) {
          pc = in.y;
          return true;
        }
        break;
      case Op::guard:
        push(guard_mark, position, 0);
        break;
      case Op::commit:
        drop_guarded();
        break;
      case Op::seen:
        position = drop_guarded();
        break;
      case Op::refuse:
        push(pc | negative_look, position, 0);
        break;
      case Op::refuted:
        drop_guarded();
        return false;
      case Op::back:
        if (position < in.x) return false;
        position -= in.x;
        break;
      case Op::assertion:
        if (!holds(static_cast<Assertion>(in.x), position)) return false;
        break;
      case Op::accept:
        accepted_ = true;
        return false;
    }
    ++pc;
    return true;
  }

  static bool is_guard(uint32_t kind_or_pc) {
    return kind_or_pc == guard_mark ||
           (kind_or_pc != restore_slot && (kind_or_pc & kind_bits) == negative_look);
  }

  // Forgets the choices made since the innermost open guard, and it; returns where it began.
  uint32_t drop_guarded() {
    auto& choices = scratch_.choices;
    while (!is_guard(choices.back().kind_or_pc)) choices.pop_back();
    const uint32_t position = choices.back().position;
    choices.pop_back();
    return position;
  }

  // Takes the latest choice that is left; false if there is none.
  bool backtrack(uint32_t& pc, uint32_t& position) {
    auto& choices = scratch_.choices;
    while (!choices.empty()) {
      count(1);
      Choice& choice = choices.back();
      if (choice.kind_or_pc == restore_slot) {
        scratch_.slots[choice.position] = choice.other;
        choices.pop_back();
        continue;
      }
      if (choice.kind_or_pc == guard_mark) {
        choices.pop_back();
        continue;
      }
      const uint32_t kind = choice.kind_or_pc & kind_bits;
      pc = choice.kind_or_pc & ~kind_bits;
      if (kind == shorter_loop) {
        position = --choice.position;
        if (position == choice.other) choices.pop_back();
        ++pc;
        return true;
      }
      if (kind == longer_loop) {
        position = choice.position;
        const regex::ClassSet& set = program_.sets[program_.code[pc].set];
        if (position == size_ || !set[classes_[position]]) {
          choices.pop_back();
          continue;
        }
        choice.position = ++position;
        if (choice.other != regex::unlimited && --choice.other == 0) choices.pop_back();
        ++pc;
        return true;
      }
      position = choice.position;
      if (kind == negative_look) pc = program_.code[pc].x;
      choices.pop_back();
      return true;
    }
    return false;
  }

  bool member(uint8_t set, uint32_t position) const {
    return program_.sets[set][classes_[position]];
  }

  bool holds(Assertion assertion, uint32_t position) const {
    const bool first = position == 0;
    const bool last = position == size_;
    switch (assertion) {
      case Assertion::line_start:
        return first || (!last && member(program_.newline_set, position - 1));
      case Assertion::line_end:
        return last || member(program_.newline_set, position);
      case Assertion::text_start:
        return first;
      case Assertion::text_end:
        return last;
      case Assertion::text_end_or_newline:
        return last || (position + 1 == size_ && member(program_.newline_set, position));
      case Assertion::word_edge:
      case Assertion::word_inside:
        break;
    }
    const bool before = !first && member(program_.word_set, position - 1);
    const bool after = !last && member(program_.word_set, position);
    return (before != after) == (assertion == Assertion::word_edge);
  }

  const Program& program_;
  Regex::Scratch& scratch_;
  std::string_view what_;
  const uint8_t* classes_;
  uint32_t size_;  // characters
  size_t steps_left_;
  size_t max_choices_;
  bool accepted_ = false;
};

void classify(const Program& program, std::string_view text, Regex::Scratch& scratch) {
  // Sized for the worst case and cut back: no growth checks inside the loop.
  scratch.classes.resize(text.size());
  scratch.offsets.resize(text.size() + 1);
  size_t count = 0;
  for (const char* p = text.data(); p != text.data() + text.size(); ++count) {
    scratch.offsets[count] = static_cast<uint32_t>(p - text.data());
    scratch.classes[count] = program.class_of(utf8::next(p));
  }
  scratch.offsets[count] = static_cast<uint32_t>(text.size());
  scratch.classes.resize(count);
  scratch.offsets.resize(count + 1);
}

}  // namespace

Regex::Regex(std::string_view pattern, std::string_view what)
    : what_(what),
      program_(std::make_unique<Program>(regex::compile(regex::parse(pattern, what), what))) {}
Regex::~Regex() = default;
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;

void Regex::find_all(std::string_view text, Scratch& scratch, std::vector<Match>& out) const {
  out.clear();
  classify(*program_, text, scratch);
  Matcher matcher(*program_, scratch, what_);
  const auto size = static_cast<uint32_t>(scratch.classes.size());
  constexpr uint32_t none = UINT32_MAX;
  uint32_t last_end = none;
  for (uint32_t at = 0; at <= size;) {
    uint32_t end = 0;
    if (!matcher.match_at(at, end) || (end == at && last_end == at)) {
      ++at;
      continue;
    }
    out.push_back({scratch.offsets[at], scratch.offsets[end]});
    last_end = end;
    at = end;
  }
}

}  // namespace dure
