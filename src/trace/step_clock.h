// Where a rank's time goes: spans that nest, each of one part of the work. Their times are always
// added up by part, which costs two looks at the clock a span; the spans themselves are kept only
// where somebody wants a trace.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dure {

enum class StepPart : uint8_t {
  other = 0,     // of a step: norms, sums, what no other part has
  embedding,     // looking up a step's tokens
  attention,     // and what stands in its place, such as recurrent layers
  feed_forward,  // dense, shared experts included
  experts,       // router, and the experts themselves
  collectives,   // exchanges with other ranks, waiting for them included
  logits,        // final norm and vocabulary
  sampling,
};
inline constexpr size_t part_count = 8;

std::string_view to_string(StepPart part);  // "feed_forward"

// One thing that a rank did. Times are of CLOCK_MONOTONIC, which all processes of a host share.
struct Span {
  uint64_t step = 0;
  int64_t begin_ns = 0;
  int64_t length_ns = 0;
  int64_t bytes = 0;   // of a collective, sent to all peers
  int32_t layer = -1;  // of the model; -1: before or behind them
  uint16_t name = 0;   // index into the names that come with it
  StepPart part = StepPart::other;
};

// As spans tell time: nanoseconds of the machine's steady clock.
int64_t ns_of(std::chrono::steady_clock::time_point time);

// One thread.
class StepClock {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr size_t most_spans = 1 << 16;  // kept, between two takes

  // From now on spans are kept.
  void keep_spans() { keeps_ = true; }
  bool keeps_spans() const { return keeps_; }

  void begin_step(uint64_t step);  // the outermost span
  void end_step();                 // and of all that are open
  // Of spans that begin after this.
  void set_layer(int32_t layer) { layer_ = layer; }
  // Spans end in the reverse order of their beginning. Outside steps nothing is measured.
  void begin(StepPart part, std::string_view name, int64_t bytes = 0);
  void end();

  class Scope {
   public:
    explicit Scope(StepClock& clock) : clock_(clock) {}
    ~Scope() { clock_.end(); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    StepClock& clock_;
  };
  [[nodiscard]] Scope time(StepPart part, std::string_view name) {
    begin(part, name);
    return Scope(*this);
  }

  // Seconds of each part, of time in spans inside it not counted twice.
  std::array<double, part_count> seconds() const;

  // What was kept since the last take; names() is what their `name` means, and only grows.
  std::vector<Span> take_spans();
  size_t kept() const { return spans_.size(); }
  int64_t lost() const { return lost_; }  // for want of room, since the start
  const std::vector<std::string>& names() const { return names_; }

 private:
  static constexpr size_t deepest = 8;  // open at once; deeper ones count as their parents

  void close(Clock::time_point now);
  uint16_t name_of(std::string_view name);

  bool keeps_ = false;
  uint64_t step_ = 0;
  int32_t layer_ = -1;
  std::array<Span, deepest> open_{};
  size_t depth_ = 0;  // of open_, or more
  Clock::time_point mark_{};
  std::array<Clock::duration, part_count> spent_{};
  std::vector<Span> spans_;
  int64_t lost_ = 0;
  std::vector<std::string> names_;
};

}  // namespace dure
