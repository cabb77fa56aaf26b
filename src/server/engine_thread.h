// What EngineLoop runs; private to it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "server/engine_loop.h"
#include "server/group_totals.h"
#include "server/mailbox.h"
#include "server/mask_workers.h"

namespace dure {

Error shutting_down();

class EngineLoop::Thread {
 public:
  using Clock = std::chrono::steady_clock;
  using MeasuresAnswer = std::function<void(const RankMeasures&)>;

  struct Submit {
    uint64_t id = 0;
    std::shared_ptr<Generation> generation;
  };
  struct Cancel {
    std::vector<uint64_t> ids;
  };
  struct AskMeasures {
    MeasuresAnswer answer;
  };
  struct Stop {
    Clock::time_point when_latest;
    bool orderly = true;
  };
  using Mail = std::variant<Submit, Cancel, AskMeasures, Stop, MaskReady, GroupEvent>;

  Thread(EngineOptions options, std::shared_ptr<const Tokenizer> tokenizer, GroupFactory factory);
  ~Thread();

  std::vector<uint64_t> submit(std::vector<Generation> generations);
  bool post(Mail mail) { return mailbox_.post(std::move(mail)); }
  EngineStatus status() const;
  GroupReady wait_ready();
  void wait_stopped();

  std::atomic<bool> refusing{false};  // draining: nothing new

 private:
  struct SentStep {
    uint64_t id = 0;
    std::vector<uint64_t> sequences;
    std::vector<int32_t> starts;
    std::vector<bool> wants_token;
    StepKind kind = StepKind::decode;
    int64_t tokens = 0;
    Clock::time_point at{};
  };

  void run();
  void take_room(std::vector<Generation>& generations);
  Clock::time_point next_wakeup() const;
  void handle(Submit& mail);
  void handle(Cancel& mail);
  void handle(AskMeasures& mail);
  void handle(Stop& mail);
  void handle(MaskReady& mail);
  void handle(GroupEvent& mail);
  void on(const LoadProgress& progress);
  void on(const GroupReady& ready);
  void on(StepDone& step);
  void on(const GroupStats& stats);
  void on(const GroupFailed& failure);
  void group_died(const GroupFailed& failure);
  void suspect_those_in_flight(const Error& error);
  void find_mask(uint64_t id, uint64_t& work);
  void tell(const Event& event) const;
  void tell_step(const SentStep& sent, Clock::time_point now) const;
  void send_steps();
  Slice slice_of(PlannedSlice planned);
  void check_timeouts();
  bool stop_if_drained();
  void refuse_unread_mail();
  void ask_ranks();
  void answer_measures();
  void publish();

  const EngineOptions options_;
  Mailbox<Mail> mailbox_;
  std::atomic<uint64_t> next_id_{1};
  std::atomic<int> admitted_{0};             // submitted and not ended
  std::atomic<int64_t> parameter_bytes_{0};  // of these

  MaskWorkers masks_;

  // The engine thread's own.
  Supervisor supervisor_;
  Scheduler scheduler_;
  LiveRequests live_;
  std::deque<SentStep> sent_;
  int failed_restarts_ = 0;  // in a row
  int64_t replayed_tokens_ = 0;
  Clock::time_point last_progress_{};
  // What the ranks measure: asked for while they work, and whenever somebody wants to know.
  GroupTotals totals_;
  ExpertBalance balance_;
  bool question_out_ = false;
  Clock::time_point asked_at_{};
  std::vector<MeasuresAnswer> waiting_answers_;
  Clock::time_point answers_deadline_{};
  std::optional<Stop> stop_;
  std::optional<GroupReady> ready_;

  // Shared.
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  EngineStatus status_;
  Clock::time_point progress_at_{};
  bool step_out_ = false;
  Error last_error_{ErrorCode::unavailable, ""};
  bool stopped_ = false;

  std::thread thread_;
};

}  // namespace dure
