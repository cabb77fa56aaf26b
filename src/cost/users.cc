// See users.h.
#include "cost/users.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"

namespace dure {
namespace {

constexpr double seconds_per_hour = 3600.0;

void check_positive(double number, const char* what) {
  if (std::isfinite(number) && number > 0.0) return;
  throw_bad_input(fmt::format("{} {}: must be positive", what, number), "", what);
}

// Seconds from one request of a seat to its next.
double cycle_of(const SeatKind& kind, double answer) {
  if (!kind.requests_per_hour) {
    if (std::isfinite(kind.think_seconds) && kind.think_seconds >= 0.0) {
      return answer + kind.think_seconds;
    }
    throw_bad_input(fmt::format("think time {} s: must not be negative", kind.think_seconds));
  }
  check_positive(*kind.requests_per_hour, "requests per hour");
  if (kind.think_seconds != 0.0) {
    throw_bad_input("a seat has a rate or a think time, not both", "leave one of them out");
  }
  const double cycle = seconds_per_hour / *kind.requests_per_hour;
  if (cycle < answer) {
    throw_bad_input(fmt::format("{:g} requests per hour: an answer takes {:.1f} s, so a seat ends "
                                "at most {:.0f} in an hour",
                                *kind.requests_per_hour, answer, seconds_per_hour / answer),
                    "count more seats with fewer requests each");
  }
  return cycle;
}

}  // namespace

double concurrent_users(double cluster_tokens_per_s, double user_tokens_per_s) {
  check_positive(cluster_tokens_per_s, "tokens/s of the cluster");
  check_positive(user_tokens_per_s, "tokens/s of a user");
  return cluster_tokens_per_s / user_tokens_per_s;
}

Seats seats_of(std::span<const SeatKind> kinds, const Capacity& capacity) {
  check_positive(capacity.output_tokens_per_s, "tokens/s of the cluster");
  check_positive(capacity.ttft, "TTFT");
  check_positive(capacity.tpot, "TPOT");
  double shares = 0.0;
  double requests = 0.0;   // per second, of a seat on average
  double tokens = 0.0;     // per second, of a seat on average
  double answering = 0.0;  // of a seat's time, on average
  for (const SeatKind& kind : kinds) {
    check_positive(kind.share, "share of seats");
    check_positive(kind.output_tokens, "output tokens of a request");
    const double answer = capacity.ttft + kind.output_tokens * capacity.tpot;
    const double rate = kind.share / cycle_of(kind, answer);
    shares += kind.share;
    requests += rate;
    tokens += rate * kind.output_tokens;
    answering += rate * answer;
  }
  constexpr double rounding = 1e-6;
  if (std::abs(shares - 1.0) > rounding) {
    throw_bad_input(fmt::format("shares of seats sum to {:g}, not 1", shares));
  }
  Seats seats;
  seats.seats = capacity.output_tokens_per_s / tokens;
  seats.requests_per_s = seats.seats * requests;
  seats.in_flight = seats.seats * answering;
  seats.decoding = concurrent_users(capacity.output_tokens_per_s, 1.0 / capacity.tpot);
  seats.seats_per_request_in_flight = 1.0 / answering;
  return seats;
}

}  // namespace dure
