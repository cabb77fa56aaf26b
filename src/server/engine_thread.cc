// The engine's thread: one round takes the mail, restarts what is due, and sends the steps that
// there is room for.
#include "server/engine_thread.h"

#include <fmt/format.h>

#include <algorithm>

namespace dure {
namespace {

constexpr auto measures_wait = std::chrono::seconds(1);

}  // namespace

EngineLoop::Thread::Thread(EngineOptions options, std::shared_ptr<const Tokenizer> tokenizer,
                           GroupFactory factory)
    : options_(std::move(options)),
      masks_(options_.mask_threads, [this](MaskReady ready) { post(std::move(ready)); }),
      supervisor_(
          std::move(factory), [this](GroupEvent event) { post(std::move(event)); },
          options_.restart),
      scheduler_(options_.schedule),
      live_(std::move(tokenizer), &admitted_) {
  thread_ = std::thread([this] { run(); });
}

EngineLoop::Thread::~Thread() {
  thread_.join();
}

void EngineLoop::Thread::run() {
  supervisor_.start();
  for (;;) {
    publish();
    for (Mail& mail : mailbox_.take(next_wakeup())) {
      std::visit([this](auto& what) { handle(what); }, mail);
    }
    supervisor_.tick(Clock::now());
    check_timeouts();
    if (stop_if_drained()) return refuse_unread_mail();
    send_steps();
  }
}

EngineLoop::Thread::Clock::time_point EngineLoop::Thread::next_wakeup() const {
  // Far, but not the clock's end: some waits add to it.
  auto wakeup = std::min(Clock::now() + std::chrono::hours(1), supervisor_.next_tick());
  if (!sent_.empty()) wakeup = std::min(wakeup, last_progress_ + options_.step_timeout);
  if (!waiting_answers_.empty()) wakeup = std::min(wakeup, answers_deadline_);
  if (stop_) wakeup = std::min(wakeup, stop_->when_latest);
  return wakeup;
}

void EngineLoop::Thread::handle(Submit& mail) {
  Generation& generation = *mail.generation;
  try {
    SequenceRequest request;
    request.id = mail.id;
    request.prompt = generation.prompt;
    request.max_tokens = generation.max_tokens;
    request.stop_ids = generation.stop_ids;
    request.stop_ids.insert(request.stop_ids.end(), generation.end_ids.begin(),
                            generation.end_ids.end());
    request.priority = generation.priority;
    request.tenant = generation.tenant;
    request.cache_salt = generation.cache_salt;
    request.whole_prompt = generation.sampling.prompt_logprobs >= 0;
    scheduler_.submit(std::move(request));
  } catch (const Error& error) {
    --admitted_;
    return generation.sink->on_error(error);
  }
  live_.add(mail.id, std::move(generation), Clock::now());
  uint64_t work = UINT64_MAX;
  find_mask(mail.id, work);
}

void EngineLoop::Thread::handle(MaskReady& mail) {
  if (!live_.contains(mail.sequence)) return;
  if (!mail.error) {
    live_.set_mask(mail.sequence, std::move(mail.mask));
    return scheduler_.release(mail.sequence);
  }
  scheduler_.cancel(mail.sequence);
  live_.fail(mail.sequence, *mail.error);
}

void EngineLoop::Thread::handle(Cancel& mail) {
  for (const uint64_t id : mail.ids) {
    if (!live_.cancel(id)) continue;
    scheduler_.cancel(id);
  }
}

void EngineLoop::Thread::handle(AskMeasures& mail) {
  waiting_answers_.push_back(std::move(mail.answer));
  if (supervisor_.state() != GroupState::ready) return answer_measures();
  if (waiting_answers_.size() > 1) return;
  answers_deadline_ = Clock::now() + measures_wait;
  ask_ranks();
}

// One question at a time: ranks that are slow to answer are not asked again.
void EngineLoop::Thread::ask_ranks() {
  if (question_out_) return;
  question_out_ = true;
  asked_at_ = Clock::now();
  supervisor_.send(AskStats{});
}

void EngineLoop::Thread::handle(Stop& mail) {
  if (!stop_ || mail.when_latest < stop_->when_latest) stop_ = mail;
}

void EngineLoop::Thread::answer_measures() {
  if (waiting_answers_.empty()) return;
  const RankMeasures measures{totals_.sum(), balance_.ratios()};
  for (const MeasuresAnswer& answer : std::exchange(waiting_answers_, {})) answer(measures);
}

bool EngineLoop::Thread::stop_if_drained() {
  if (!stop_ || (live_.size() > 0 && Clock::now() < stop_->when_latest)) return false;
  live_.fail_all(shutting_down());
  answer_measures();
  supervisor_.stop(stop_->orderly);
  const std::lock_guard lock(mutex_);
  status_.state = GroupState::stopping;
  last_error_ = Error(ErrorCode::unavailable, "the server was stopped while the model was loading");
  stopped_ = true;
  changed_.notify_all();
  return true;
}

// What came in while the group was being stopped.
void EngineLoop::Thread::refuse_unread_mail() {
  for (Mail& mail : mailbox_.close()) {
    if (const auto* submit = std::get_if<Submit>(&mail)) {
      submit->generation->sink->on_error(shutting_down());
    } else if (const auto* question = std::get_if<AskMeasures>(&mail)) {
      question->answer({totals_.sum(), balance_.ratios()});
    }
  }
}

void EngineLoop::Thread::publish() {
  const std::lock_guard lock(mutex_);
  const bool news = status_.state != supervisor_.state() ||
                    status_.last_error != supervisor_.last_error().message();
  status_.state = supervisor_.state();
  status_.restarts = supervisor_.restarts();
  if (news) {
    status_.ready = ready_;
    last_error_ = supervisor_.last_error();
    status_.last_error = last_error_.message();
  }
  status_.running = scheduler_.running();
  status_.waiting = scheduler_.waiting();
  status_.schedule = scheduler_.counts();
  status_.replayed_tokens = replayed_tokens_;
  status_.total_pages = int64_t{options_.schedule.dp} * options_.schedule.pages;
  status_.counts = live_.counts();
  status_.histograms = live_.histograms();
  step_out_ = !sent_.empty();
  progress_at_ = last_progress_;
  if (news) changed_.notify_all();
}

}  // namespace dure
