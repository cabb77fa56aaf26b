// A group of ranks for tests: a thread that answers steps as ranks would, from a script, and checks
// that the pages it is given still hold what it wrote there. Only included by tests.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <limits>
#include <map>
#include <mutex>
#include <thread>
#include <tuple>

#include "group/group.h"
#include "server/supervisor.h"

namespace dure {

// What a test decides and sees; outlives the groups made from it.
struct FakeRanks {
  std::vector<int32_t> script;  // every sequence produces these, then the last again and again
  int32_t page_tokens = 16;
  std::chrono::microseconds step_time{0};
  std::atomic<bool> ready{true};    // false: keeps loading
  std::atomic<bool> frozen{false};  // true: answers nothing, as if stopped by SIGSTOP
  std::atomic<bool> answers_nonsense{false};
  std::atomic<int32_t> poison{-1};  // a token that they die of
  std::atomic<int> launches{0};
  std::atomic<int> steps{0};
  std::atomic<int> corrupt_reads{0};  // positions that did not hold what the sequence wrote
  std::atomic<int> orderly_stops{0};

  // What the front told of each sequence that entered, in order.
  std::vector<SequenceSetup> setups() {
    const std::lock_guard lock(mutex);
    return setups_;
  }

  GroupFactory factory();
  void die(const std::string& reason);  // the group that runs now

 private:
  friend class FakeGroup;
  std::mutex mutex;
  class FakeGroup* current = nullptr;
  std::vector<SequenceSetup> setups_;
};

class FakeGroup : public Group {
 public:
  FakeGroup(FakeRanks& ranks, Events events) : ranks_(ranks), events_(std::move(events)) {
    {
      const std::lock_guard lock(ranks_.mutex);
      ranks_.current = this;
    }
    ++ranks_.launches;
    thread_ = std::thread([this] { run(); });
  }

  ~FakeGroup() override {
    {
      const std::lock_guard lock(ranks_.mutex);
      if (ranks_.current == this) ranks_.current = nullptr;
    }
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  void send(const ToRanks& message) override {
    {
      const std::lock_guard lock(mutex_);
      mail_.push_back(message);
    }
    changed_.notify_all();
  }

  void stop() override { ++ranks_.orderly_stops; }

  void die(const std::string& reason) {
    {
      const std::lock_guard lock(mutex_);
      death_ = reason;
    }
    changed_.notify_all();
  }

 private:
  using Place = std::tuple<int32_t, int32_t, int32_t>;  // dp, page, offset

  void run() {
    constexpr auto poll = std::chrono::milliseconds(1);
    bool told_ready = false;
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait_for(lock, poll, [&] {
        return ending_ || !death_.empty() || (told_ready && !mail_.empty() && !ranks_.frozen);
      });
      if (ending_) return;
      if (!death_.empty()) {
        lock.unlock();
        events_.on_failed(GroupFailed{0, static_cast<uint8_t>(ErrorCode::failed), death_, ""});
        return;
      }
      if (ranks_.frozen) continue;
      if (!told_ready && ranks_.ready) {
        told_ready = true;
        lock.unlock();
        events_.on_progress(LoadProgress{1, 1});
        events_.on_ready(GroupReady{{RankReport{}}});
        lock.lock();
      }
      if (!told_ready || mail_.empty()) continue;
      const ToRanks message = std::move(mail_.front());
      mail_.pop_front();
      lock.unlock();
      if (std::holds_alternative<AskStats>(message)) events_.on_stats(stats());
      if (const auto* step = std::get_if<Step>(&message)) {
        if (is_poisoned(*step)) {
          events_.on_failed(
              GroupFailed{0, static_cast<uint8_t>(ErrorCode::failed), "no answer to that", ""});
          return;
        }
        events_.on_step(answer(*step));
      }
      lock.lock();
    }
  }

  bool is_poisoned(const Step& step) const {
    return std::any_of(step.slices.begin(), step.slices.end(), [&](const Slice& slice) {
      return std::count(slice.tokens.begin(), slice.tokens.end(), ranks_.poison.load()) > 0;
    });
  }

  StepDone answer(const Step& step) {
    if (ranks_.step_time.count() > 0) std::this_thread::sleep_for(ranks_.step_time);
    ++ranks_.steps;
    StepDone done;
    done.id = ranks_.answers_nonsense ? step.id + 1000 : step.id;
    for (const Slice& slice : step.slices) {
      check_cache(slice);
      write_cache(slice);
      SliceResult result;
      result.sequence = slice.sequence;
      if (slice.setup) {
        setup_of_[{slice.dp, slice.state}] = *slice.setup;
        const std::lock_guard lock(ranks_.mutex);
        ranks_.setups_.push_back(*slice.setup);
      }
      const SequenceSetup& setup = setup_of_.at({slice.dp, slice.state});
      if (slice.want == Want::token) {
        const int32_t produced = slice.length - setup.prompt_tokens;
        result.token = allowed_token(
            slice,
            ranks_.script[std::min(static_cast<size_t>(produced), ranks_.script.size() - 1)]);
        if (setup.sampling.logprobs >= 0) {
          result.logprobs = logprobs_of(result.token, setup.sampling.logprobs);
        }
      }
      tell_prompt(slice, setup, result);
      done.slices.push_back(result);
    }
    return done;
  }

  // The script's, or where the mask forbids that the first one it allows.
  static int32_t allowed_token(const Slice& slice, int32_t scripted) {
    const auto allowed = [&](int32_t token) {
      return (slice.mask[static_cast<size_t>(token) / 64] >> (token % 64) & 1) != 0;
    };
    if (slice.mask.empty() || allowed(scripted)) return scripted;
    for (int32_t token = 0; token < static_cast<int32_t>(slice.mask.size() * 64); ++token) {
      if (allowed(token)) return token;
    }
    return -2;
  }

  // Every token has -0.5; its alternatives are the ids that follow it. Token 7 is impossible.
  static TokenLogprobs logprobs_of(int32_t token, int32_t alternatives) {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    TokenLogprobs told{token, token == 7 ? -infinity : -0.5f, 1, {}};
    for (int32_t i = 0; i < alternatives; ++i) {
      told.top.push_back({token + i, told.logprob - static_cast<float>(i)});
    }
    return told;
  }

  static void tell_prompt(const Slice& slice, const SequenceSetup& setup, SliceResult& result) {
    if (setup.sampling.prompt_logprobs < 0) return;
    for (size_t i = 0; i < slice.tokens.size(); ++i) {
      if (slice.start + static_cast<int32_t>(i) + 1 >= setup.prompt_tokens) return;
      const int32_t next = i + 1 < slice.tokens.size() ? slice.tokens[i + 1] : slice.next_token;
      result.prompt_logprobs.push_back(logprobs_of(next, setup.sampling.prompt_logprobs));
    }
  }

  Place place(const Slice& slice, int32_t position) const {
    return {slice.dp, slice.tables.at(0).pages[static_cast<size_t>(position / ranks_.page_tokens)],
            position % ranks_.page_tokens};
  }

  // A place holds a digest of all tokens up to it, so that reading another's is seen even where
  // pages are shared.
  void check_cache(const Slice& slice) {
    for (int32_t position = 0; position < slice.start; ++position) {
      if (position > 0 &&
          cache_[place(slice, position)].before != cache_[place(slice, position - 1)].digest) {
        ++ranks_.corrupt_reads;
      }
    }
  }

  void write_cache(const Slice& slice) {
    uint64_t before = slice.start > 0 ? cache_[place(slice, slice.start - 1)].digest : 0;
    for (size_t i = 0; i < slice.tokens.size(); ++i) {
      const int32_t position = slice.start + static_cast<int32_t>(i);
      const uint64_t digest =
          (before ^ static_cast<uint64_t>(slice.tokens[i] + 1)) * 1099511628211u + 77;
      cache_[place(slice, position)] = {before, digest};
      before = digest;
    }
  }

  static GroupStats stats() {
    GroupStats made;
    made.ranks = {{0, {{"all_reduce", 1, 0.5}}, {{"experts", 1.5}}, {{1, 0, {5, 6}}}},
                  {1, {{"all_reduce", 2, 0.25}}, {{"experts", 2.5}}, {{1, 2, {20, 2}}}}};
    made.dropped_slots = 33;
    made.moved_slots = 44;
    return made;
  }

  FakeRanks& ranks_;
  Events events_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<ToRanks> mail_;
  std::string death_;
  bool ending_ = false;
  struct Written {
    uint64_t before = 0;
    uint64_t digest = 0;
  };
  std::map<Place, Written> cache_;
  std::map<std::pair<int32_t, int32_t>, SequenceSetup> setup_of_;  // dp, slot
  std::thread thread_;
};

inline GroupFactory FakeRanks::factory() {
  return [this](Group::Events events) {
    return std::make_unique<FakeGroup>(*this, std::move(events));
  };
}

inline void FakeRanks::die(const std::string& reason) {
  const std::lock_guard lock(mutex);
  if (current != nullptr) current->die(reason);
}

}  // namespace dure
