// See request_histograms.h.
#include "server/request_histograms.h"

namespace dure {
namespace {

constexpr double of_first_token[] = {0.001, 0.005, 0.01, 0.02,  0.04,  0.06,  0.08, 0.1,
                                     0.25,  0.5,   0.75, 1.0,   2.5,   5.0,   7.5,  10.0,
                                     20.0,  40.0,  80.0, 160.0, 640.0, 2560.0};
constexpr double of_token[] = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1,
                               0.15,  0.2,    0.3,   0.4,  0.5,   0.75, 1.0,   2.5,
                               5.0,   7.5,    10.0,  20.0, 40.0,  80.0};
constexpr double of_request[] = {0.01, 0.05, 0.1,   0.3,   0.5,   0.8,   1.0,    1.5,
                                 2.0,  2.5,  5.0,   10.0,  15.0,  20.0,  30.0,   40.0,
                                 50.0, 60.0, 120.0, 240.0, 480.0, 960.0, 1920.0, 7680.0};
constexpr double of_step_s[] = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                0.25,   0.5,   1.0,    2.5,   5.0,  10.0,  30.0};
constexpr double tokens[] = {1,      2,       5,       10,      20,       50,     100,
                             200,    500,     1000,    2000,    5000,     10'000, 20'000,
                             50'000, 100'000, 200'000, 500'000, 1'000'000};
constexpr double of_step[] = {1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16'384};

double seconds(SteadyTime from, SteadyTime to) {
  return std::chrono::duration<double>(to - from).count();
}

}  // namespace

std::string_view to_string(StepKind kind) {
  switch (kind) {
    case StepKind::prefill:
      return "prefill";
    case StepKind::decode:
      return "decode";
    case StepKind::mixed:
      return "mixed";
  }
  return "mixed";
}

RequestHistograms::RequestHistograms()
    : first_token(of_first_token),
      between_tokens(of_token),
      whole(of_request),
      queue(of_request),
      prefill(of_request),
      decode(of_request),
      step_seconds{Histogram(of_step_s), Histogram(of_step_s), Histogram(of_step_s)},
      prompt_tokens(tokens),
      completion_tokens(tokens),
      step_tokens(of_step) {}

void RequestHistograms::token(RequestTimes& times, SteadyTime now) {
  if (times.first) {
    between_tokens.add(seconds(times.last, now));
  } else {
    times.first = now;
    first_token.add(seconds(times.submitted, now));
  }
  times.last = now;
}

void RequestHistograms::end(const RequestTimes& times, int64_t prompt, int64_t completion) {
  whole.add(seconds(times.submitted, times.last));
  if (times.started) queue.add(seconds(times.submitted, *times.started));
  if (times.started && times.first) prefill.add(seconds(*times.started, *times.first));
  if (times.first) decode.add(seconds(*times.first, times.last));
  prompt_tokens.add(static_cast<double>(prompt));
  completion_tokens.add(static_cast<double>(completion));
}

}  // namespace dure
