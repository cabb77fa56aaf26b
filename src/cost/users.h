// How many users so many tokens per second serve: those that are being answered now, and the seats
// behind them, who read, think and type most of the time. A number of heads alone says neither.
#pragma once

#include <optional>
#include <span>

namespace dure {

// Users that are answered at the same moment, each at the speed promised to it: output tokens/s of
// the cluster ÷ tokens/s of one user. Both positive.
double concurrent_users(double cluster_tokens_per_s, double user_tokens_per_s);

// People, or programs, who use it alike.
struct SeatKind {
  double share = 1.0;          // of all seats
  double output_tokens = 0.0;  // of a request, on average
  // How often: a rate, or what passes between the end of an answer and the next request.
  std::optional<double> requests_per_hour;
  double think_seconds = 0.0;  // where no rate is given; 0: asks again at once, as agents do
};

// What the cluster does under this mix of requests. Its throughput is of one mix of input and
// output lengths: another mix needs another prediction.
struct Capacity {
  double output_tokens_per_s = 0.0;  // of the cluster
  double ttft = 0.0;                 // seconds, on average
  double tpot = 0.0;                 // seconds
};

struct Seats {
  double seats = 0.0;
  double requests_per_s = 0.0;
  double in_flight = 0.0;  // requests that wait or are answered
  double decoding = 0.0;   // of them, those that receive tokens: concurrent_users
  double seats_per_request_in_flight = 0.0;
};

// The interactive response time law (Denning and Buzen 1978): a seat's cycle is the answer, ttft +
// output × tpot, and its think time; seats are the cluster's tokens/s over the mean of output ÷
// cycle. Requests in flight follow by Little's law. Throws bad_input for shares that do not sum to
// 1, for numbers that are not positive, for both a rate and a think time, and for a rate that a
// seat cannot keep since its answers take longer.
Seats seats_of(std::span<const SeatKind> kinds, const Capacity& capacity);

}  // namespace dure
