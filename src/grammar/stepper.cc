// See stepper.h. A call reads at least one byte (the analysis made calls of rules that may be empty
// optional), so a frame is never left in the step that pushed it, and closures end.
#include "grammar/stepper.h"

#include <algorithm>
#include <bit>

#include "grammar/limits.h"

namespace dure::grammar {

Stepper::Stepper(const Automaton& automaton) : automaton_(automaton), seen_(64), epochs_(64, 0) {}

bool Stepper::first_time(uint64_t key) {
  if (visits_ * 2 >= seen_.size()) {
    std::vector<uint64_t> old(seen_.size() * 2);
    std::vector<uint32_t> old_epochs(old.size(), 0);
    seen_.swap(old);
    epochs_.swap(old_epochs);
    visits_ = 0;
    for (size_t i = 0; i < old.size(); ++i) {
      if (old_epochs[i] == epoch_) first_time(old[i]);
    }
  }
  const size_t mask = seen_.size() - 1;
  size_t slot = (key * 0x9E3779B97F4A7C15U >> 32) & mask;
  while (epochs_[slot] == epoch_) {
    if (seen_[slot] == key) return false;
    slot = (slot + 1) & mask;
  }
  epochs_[slot] = epoch_;
  seen_[slot] = key;
  ++visits_;
  return true;
}

void Stepper::begin(Frames& frames, uint32_t room, Configs& out) {
  frames_ = &frames;
  out_ = &out;
  room_ = room;
  need_ = 0;
  out.items.clear();
  out.finished = false;
  visits_ = 0;
  if (++epoch_ == 0) {
    std::ranges::fill(epochs_, 0);
    epoch_ = 1;
  }
}

void Stepper::finish() {
  close();
  std::ranges::sort(out_->items);
  out_->items.erase(std::unique(out_->items.begin(), out_->items.end()),
                    out_->items.end());  // fresh and not
}

void Stepper::start(Frames& frames, uint32_t room, Configs& out) {
  begin(frames, room, out);
  add(automaton_.rule(automaton_.root()).start, Frames::bottom, false);
  finish();
}

bool Stepper::step(Frames& frames, uint32_t room, const Configs& from, uint8_t byte, Configs& out) {
  begin(frames, room, out);
  for (const Config& config : from.items) {
    const auto arcs = automaton_.bytes(config.state);
    work_ += 1 + arcs.size() / 8;
    for (const ByteArc& arc : arcs) {
      if (arc.low <= byte && byte <= arc.high) add(arc.to, config.frame, false);
    }
    if (visits_ >= max_visits_per_byte) break;
  }
  finish();
  return !out.items.empty() || out.finished;
}

void Stepper::leave(Frames& frames, uint32_t room, uint32_t frame, Configs& out) {
  begin(frames, room, out);
  complete(frame);
  finish();
}

bool Stepper::fits(uint32_t frame, uint32_t height) {
  if (height == unbounded) return false;
  const uint32_t need = (*frames_)[frame].depth + height;
  if (need > room_) return false;
  need_ = std::max(need_, need);
  return true;
}

void Stepper::add(StateId state, uint32_t frame, bool fresh) {
  if (!fits(frame, automaton_.height(state))) return;
  if (visits_ >= max_visits_per_byte) return;
  const uint64_t key = uint64_t{state} << 33 | uint64_t{frame} << 1 | static_cast<uint64_t>(fresh);
  if (first_time(key)) open_.push_back({state, frame, fresh});
}

void Stepper::close() {
  while (!open_.empty()) {
    const Visit next = open_.back();
    open_.pop_back();
    ++work_;
    visit(next);
  }
}

void Stepper::visit(const Visit& at) {
  if (!automaton_.bytes(at.state).empty() && out_->items.size() < max_configs) {
    out_->items.push_back({at.state, at.frame});
  }
  const auto epsilons = automaton_.epsilons(at.state);
  work_ += epsilons.size();
  for (const StateId to : epsilons) add(to, at.frame, at.fresh);
  const uint32_t call = automaton_.call_of(at.state);
  if (call != none) enter(automaton_.call(call), call, at);
  if (automaton_.is_end(at.state) && !at.fresh) complete(at.frame);
}

void Stepper::enter(const Call& call, uint32_t id, const Visit& from) {
  if (call.low == 0) add(call.to, from.frame, from.fresh);
  if (call.high == 0) return;
  // Both the rule and what comes after it must be able to end, else its last byte led nowhere.
  const uint32_t inner = automaton_.height(automaton_.rule(call.rule).start);
  const uint32_t after = automaton_.height(call.to);
  if (inner == unbounded || !fits(from.frame, std::max(inner + 1, after))) return;
  const uint32_t frame =
      call.last ? from.frame : frames_->push(from.frame, id, call.low, call.high);
  add(automaton_.rule(call.rule).start, frame, true);
}

void Stepper::complete(uint32_t frame) {
  if (frame == Frames::bottom) {
    out_->finished = true;
    return;
  }
  const Frame left = (*frames_)[frame];
  const Call& call = automaton_.call(left.call);
  const uint32_t low = left.low == 0 ? 0 : left.low - 1;
  const uint32_t high = left.high == unbounded ? unbounded : left.high - 1;
  if (low == 0) add(call.to, left.parent, false);
  if (high > 0) {
    add(automaton_.rule(call.rule).start, frames_->push(left.parent, left.call, low, high), true);
  }
}

}  // namespace dure::grammar
