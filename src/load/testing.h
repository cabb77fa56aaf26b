// Helpers of the tests in this folder: a transport whose server is a script and whose clock only
// moves as the script says, so that tests hold for any machine.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "load/transport.h"

namespace dure::load::testing {

// What the server does so many seconds after the step before.
struct Step {
  double after_s = 0.0;
  enum class Kind { head, bytes, end } kind = Kind::head;
  CallHead head = {};
  std::string bytes = {};
  CallEnd end = CallEnd::complete;
};

inline Step head_step(double after_s, int status = 200, double retry_after_s = 0.0) {
  return {after_s, Step::Kind::head, {status, "text/event-stream; charset=utf-8", retry_after_s}};
}
inline Step bytes_step(double after_s, std::string bytes) {
  return {after_s, Step::Kind::bytes, {}, std::move(bytes)};
}
inline Step end_step(double after_s, CallEnd end = CallEnd::complete) {
  return {after_s, Step::Kind::end, {}, {}, end};
}
inline Step text_step(double after_s) {
  return bytes_step(after_s, "data: {\"choices\":[{\"index\":0,\"text\":\"a\"}]}\n\n");
}

// An answer of `tokens`, the first after first_s, the others gap_s apart, with usage.
inline std::vector<Step> answer_steps(int tokens, double first_s, double gap_s) {
  std::vector<Step> steps = {head_step(0.0)};
  for (int i = 0; i < tokens; ++i) steps.push_back(text_step(i == 0 ? first_s : gap_s));
  steps.push_back(bytes_step(
      0.0,
      "data: {\"choices\":[{\"index\":0,\"text\":\"\",\"finish_reason\":\"length\"}]}\n\n"
      "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":" +
          std::to_string(tokens) + "}}\n\ndata: [DONE]\n\n"));
  steps.push_back(end_step(0.0));
  return steps;
}

class ScriptedTransport : public Transport {
 public:
  // The steps of the nth call (from 0).
  using Server = std::function<std::vector<Step>(const CallSpec& spec, int index)>;

  explicit ScriptedTransport(Server server) : server_(std::move(server)) {}

  double now() const override { return now_s_; }
  void at(double when_s, std::function<void()> then) override {
    queue_.emplace(when_s, std::move(then));
  }
  void start(CallSpec spec, std::shared_ptr<CallEvents> events) override {
    const int index = calls_++;
    auto steps = std::make_shared<std::vector<Step>>(server_(spec, index));
    sent_.push_back({now_s_, std::move(spec.body)});
    open_[index] = std::move(events);
    most_open_ = std::max(most_open_, open_.size());
    at(now_s_, [this, index, steps] {
      if (open_.count(index) == 0) return;
      if (!open_[index]->on_sent()) return close(index, CallEnd::left);
      go_on(index, steps, 0);
    });
  }
  void hang_up() override {
    queue_.clear();
    while (!open_.empty()) close(open_.begin()->first, CallEnd::left);
  }
  void run() override {
    while (!queue_.empty()) {
      auto next = queue_.extract(queue_.begin());
      now_s_ = std::max(now_s_, next.key());
      next.mapped()();
    }
  }
  void post(std::function<void()> then) override { at(now_s_, std::move(then)); }

  // The thread does something else: nothing happens until then.
  void be_busy(double seconds) { now_s_ += seconds; }

  struct Sent {
    double at_s;
    std::string body;
  };
  const std::vector<Sent>& sent() const { return sent_; }
  size_t most_open() const { return most_open_; }

 private:
  void go_on(int index, const std::shared_ptr<std::vector<Step>>& steps, size_t number) {
    if (number == steps->size()) return;  // silent for ever
    at(now_s_ + (*steps)[number].after_s, [this, index, steps, number] {
      const auto found = open_.find(index);
      if (found == open_.end()) return;
      const Step& step = (*steps)[number];
      const std::shared_ptr<CallEvents> events = found->second;
      if (step.kind == Step::Kind::end) return close(index, step.end);
      const bool goes_on =
          step.kind == Step::Kind::head ? events->on_head(step.head) : events->on_bytes(step.bytes);
      if (!goes_on) return close(index, CallEnd::left);
      go_on(index, steps, number + 1);
    });
  }
  void close(int index, CallEnd end) {
    const std::shared_ptr<CallEvents> events = open_[index];
    open_.erase(index);
    events->on_end(end, end == CallEnd::complete ? "" : "as scripted");
  }

  Server server_;
  double now_s_ = 0.0;
  int calls_ = 0;
  std::multimap<double, std::function<void()>> queue_;  // equal keys keep their order
  std::map<int, std::shared_ptr<CallEvents>> open_;
  std::vector<Sent> sent_;
  size_t most_open_ = 0;
};

}  // namespace dure::load::testing
