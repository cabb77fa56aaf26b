// See lazy_dfa.h.
#include "grammar/lazy_dfa.h"

#include <algorithm>

#include "grammar/limits.h"

namespace dure::grammar {

LazyDfa::LazyDfa(const Automaton& automaton)
    : automaton_(automaton), classes_(automaton.byte_of_class().size()), stepper_(automaton) {
  restart({});
}

bool LazyDfa::too_large() const {
  return frames_.bytes() + states_.size() * sizeof(State) + configs_.size() * sizeof(Config) +
             (table_.size() + slots_.size()) * sizeof(uint32_t) >
         lazy_dfa_bytes;
}

void LazyDfa::rehash(size_t slots) {
  slots_.assign(slots, 0);
  for (uint32_t id = 0; id < states_.size(); ++id) {
    size_t slot = states_[id].hash & (slots - 1);
    while (slots_[slot] != 0) slot = (slot + 1) & (slots - 1);
    slots_[slot] = id + 1;
  }
}

uint32_t LazyDfa::intern(uint32_t room, const Configs& configs, uint32_t need) {
  uint64_t hash = room * uint64_t{2} + (configs.finished ? 1 : 0);
  for (const Config& config : configs.items) {
    hash = (hash ^ (uint64_t{config.state} << 32 | config.frame)) * 0x9E3779B97F4A7C15U;
    hash ^= hash >> 31;
  }
  const size_t mask = slots_.size() - 1;
  size_t slot = hash & mask;
  for (; slots_[slot] != 0; slot = (slot + 1) & mask) {
    State& state = states_[slots_[slot] - 1];
    if (state.hash == hash && state.room == room && state.finished == configs.finished &&
        std::equal(configs.items.begin(), configs.items.end(),
                   configs_.begin() + static_cast<long>(state.begin),
                   configs_.begin() + static_cast<long>(state.begin + state.count))) {
      state.need = std::max(state.need, need);
      return slots_[slot] - 1;
    }
  }
  const auto id = static_cast<uint32_t>(states_.size());
  states_.push_back({.hash = hash,
                     .begin = configs_.size(),
                     .count = static_cast<uint32_t>(configs.items.size()),
                     .room = room,
                     .need = need,
                     .finished = configs.finished});
  configs_.insert(configs_.end(), configs.items.begin(), configs.items.end());
  table_.resize(table_.size() + classes_, unknown);
  slots_[slot] = id + 1;
  work_ += 16 + configs.items.size() + classes_ / 4;
  if (states_.size() * 2 > slots_.size()) rehash(slots_.size() * 2);
  return id;
}

uint32_t LazyDfa::state_of(const LocalKey& key) {
  from_.items.clear();
  from_.finished = false;
  for (size_t at = 1; at < key.size();) {
    const StateId state = key[at];
    const uint32_t count = key[at + 1];
    at += 2;
    uint32_t frame = Frames::bottom;
    for (uint32_t i = 0; i < count; ++i, at += 3) {
      frame = frames_.push(frame, key[at], key[at + 1], key[at + 2]);
    }
    from_.items.push_back({state, frame});
  }
  std::ranges::sort(from_.items);
  from_.items.erase(std::unique(from_.items.begin(), from_.items.end()), from_.items.end());
  return intern(key[0], from_, 0);
}

uint32_t LazyDfa::make(uint32_t id, uint8_t byte_class) {
  const State state = states_[id];
  from_.items.assign(configs_.begin() + static_cast<long>(state.begin),
                     configs_.begin() + static_cast<long>(state.begin + state.count));
  uint32_t made = dead;
  if (stepper_.step(frames_, state.room, from_, automaton_.byte_of_class()[byte_class], to_)) {
    made = intern(state.room, to_, stepper_.need());
  }
  table_[size_t{id} * classes_ + byte_class] = made;
  return made;
}

void LazyDfa::restart(std::span<uint32_t> kept) {
  const Frames old_frames = std::move(frames_);
  const std::vector<State> old_states = std::move(states_);
  const std::vector<Config> old_configs = std::move(configs_);
  frames_ = Frames();
  states_.clear();
  configs_.clear();
  table_.clear();
  slots_.assign(64, 0);
  intern(0, Configs{}, 0);  // dead
  std::vector<uint32_t> path;
  for (uint32_t& id : kept) {
    if (id == dead) continue;
    const State& state = old_states[id];
    Configs configs;
    configs.finished = state.finished;
    for (uint32_t i = 0; i < state.count; ++i) {
      Config config = old_configs[state.begin + i];
      path.clear();
      for (uint32_t f = config.frame; f != Frames::bottom; f = old_frames[f].parent)
        path.push_back(f);
      config.frame = Frames::bottom;
      for (; !path.empty(); path.pop_back()) {
        const Frame& frame = old_frames[path.back()];
        config.frame = frames_.push(config.frame, frame.call, frame.low, frame.high);
      }
      configs.items.push_back(config);
    }
    std::ranges::sort(configs.items);
    id = intern(state.room, configs, state.need);
  }
}

}  // namespace dure::grammar
