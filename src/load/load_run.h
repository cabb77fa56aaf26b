// A load from its first request to its last answer: warm-up, closed or open loop, a second load in
// the background, and how late this program itself was.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "load/record.h"
#include "load/summary.h"
#include "load/transport.h"
#include "load/workload.h"

namespace dure::load {

struct LoadSettings {
  std::string path = "/v1/completions";
  // What every request's JSON object holds beside its prompt and max_tokens, without braces:
  // "model":"m","stream":true
  std::string members;
  PromptStyle style;
  int64_t warm_up = 0;  // requests that are answered before the load begins
};

struct LoadProgress {
  double elapsed_s = 0.0;
  bool warms_up = false;
  int64_t finished = 0;
  int64_t in_flight = 0;
  int64_t failed = 0;
  int64_t output_tokens = 0;
};

struct LoadResult {
  double start_s = 0.0;  // on the transport's clock; the warm-up is over
  std::vector<Record> records;
  std::vector<Record> background;
  int64_t warm_up_failed = 0;
  bool stopped = false;
  // How late timers of this program fired: what its clock readings may be wrong by.
  Percentiles timer_lag_s;
};

class LoadRun {
 public:
  using OnProgress = std::function<void(const LoadProgress&)>;  // some times a second

  // The background lasts until the load has ended; what is then under way is hung up.
  LoadRun(Transport& transport, LoadSettings settings, Workload load,
          std::optional<Workload> background, OnProgress on_progress = {});

  // Once. Throws bad_input where a given prompt does not suit the endpoint.
  LoadResult run();
  // From any thread: ends the load at once; run() returns what there is.
  void stop();

 private:
  struct Lane {
    Workload workload;
    std::vector<Record>* records;
    int64_t in_flight = 0;
    bool over = false;  // no further request
  };

  void warm_up_next();
  void begin();
  void start(Lane& lane);
  void next_of_client(Lane& lane);
  void client_is_free(Lane& lane, const Record& last);
  void arm_next_arrival(Lane& lane);
  std::string body_of(const RequestPlan& plan) const;
  void send(Lane& lane, const RequestPlan& plan, std::string body, double scheduled_s);
  void on_done(Lane& lane, Record record);
  void end_if_done();
  void end();
  void tick(double due_s);

  Transport& transport_;
  LoadSettings settings_;
  LoadResult result_;  // before the lanes, which write into it
  Lane load_;
  std::optional<Lane> background_;
  OnProgress on_progress_;
  LoadProgress progress_;
  std::vector<double> timer_lags_;
  double next_progress_s_ = 0.0;
  int64_t warm_ups_sent_ = 0;
  int64_t warm_ups_done_ = 0;
  bool ended_ = false;
};

}  // namespace dure::load
