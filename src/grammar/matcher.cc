// See matcher.h.
#include "grammar/matcher.h"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "base/error.h"
#include "grammar/limits.h"
#include "grammar/mask_search.h"

namespace dure::grammar {
namespace {

constexpr uint64_t unbounded_work = UINT64_MAX;  // limits.h bounds it all the same

}  // namespace

struct Constraint::Shared {
  // What one thread works with while it makes a mask.
  struct Worker {
    explicit Worker(const Automaton& automaton) : dfa(automaton), stepper(automaton) {}
    LazyDfa dfa;
    Stepper stepper;
  };

  std::unique_ptr<Worker> take(const Automaton& automaton) {
    {
      const std::lock_guard lock(mutex);
      if (!idle.empty()) {
        std::unique_ptr<Worker> worker = std::move(idle.back());
        idle.pop_back();
        return worker;
      }
    }
    return std::make_unique<Worker>(automaton);
  }

  void give_back(std::unique_ptr<Worker> worker) {
    constexpr size_t most_idle = 2;
    const std::lock_guard lock(mutex);
    if (idle.size() < most_idle) idle.push_back(std::move(worker));
  }

  MaskCache cache;
  std::mutex mutex;
  std::vector<std::unique_ptr<Worker>> idle;
};

Constraint::Constraint(std::shared_ptr<const Grammar> grammar,
                       std::shared_ptr<const TokenTrie> tokens)
    : grammar_(std::move(grammar)),
      tokens_(std::move(tokens)),
      shared_(std::make_unique<Shared>()) {}

Constraint::~Constraint() = default;

Matcher::Matcher(std::shared_ptr<const Constraint> constraint)
    : constraint_(std::move(constraint)) {
  const Automaton& automaton = constraint_->grammar().automaton();
  Stepper(automaton).start(frames_, automaton.max_depth(), configs_);
}

bool Matcher::accept(uint32_t token) {
  uint64_t work = unbounded_work;
  return accept(token, work);
}

bool Matcher::accept(uint32_t token, uint64_t& work) {
  const TokenTrie& tokens = constraint_->tokens();
  if (token >= tokens.vocabulary_size() || tokens.bytes(token).empty()) return false;
  return accept_bytes(tokens.bytes(token), work);
}

bool Matcher::accept_bytes(std::string_view bytes) {
  uint64_t work = unbounded_work;
  return accept_bytes(bytes, work);
}

bool Matcher::accept_bytes(std::string_view bytes, uint64_t& work) {
  const Automaton& automaton = constraint_->grammar().automaton();
  Stepper stepper(automaton);
  Frames frames = frames_;
  Configs from = configs_, to;
  for (const char byte : bytes) {
    if (frames.size() > max_frames) frames.keep_only(from.items, max_frames);
    if (!stepper.step(frames, automaton.max_depth(), from, static_cast<uint8_t>(byte), to)) {
      work -= std::min(work, stepper.work());
      return false;
    }
    if (stepper.work() >= work) {
      work = 0;
      return false;
    }
    std::swap(from, to);
  }
  work -= stepper.work();
  frames.keep_only(from.items, max_frames);
  from.items.shrink_to_fit();
  frames_ = std::move(frames);
  configs_ = std::move(from);
  return true;
}

void Matcher::fill_mask(std::span<uint64_t> mask) const {
  search(mask, max_mask_work, [&](MaskSearch& search) {
    if (!search.run(frames_, configs_, mask)) search.allow_single_bytes(configs_, mask);
  });
}

bool Matcher::fill_mask(std::span<uint64_t> mask, uint64_t& work) const {
  bool complete = false;
  search(mask, work, [&](MaskSearch& search) {
    complete = search.run(frames_, configs_, mask);
    work = search.work_left();
  });
  return complete;
}

template <class Use>
void Matcher::search(std::span<uint64_t> mask, uint64_t work, const Use& use) const {
  DURE_CHECK(mask.size() == constraint_->tokens().mask_words());
  std::ranges::fill(mask, 0);
  const Automaton& automaton = constraint_->grammar().automaton();
  Constraint::Shared& shared = *constraint_->shared_;
  auto worker = shared.take(automaton);
  MaskSearch search(automaton, constraint_->tokens(), shared.cache, worker->dfa, worker->stepper,
                    work);
  use(search);
  shared.give_back(std::move(worker));
}

size_t Matcher::bytes() const {
  return sizeof(*this) + frames_.bytes() + configs_.items.capacity() * sizeof(Config);
}

}  // namespace dure::grammar
