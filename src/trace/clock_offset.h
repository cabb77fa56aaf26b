// How far another host's clock is from ours, from questions and answers: the answer was given
// between our question and its arrival, so the quickest exchange says most (Cristian 1989).
#pragma once

#include <cstdint>

namespace dure {

class ClockOffset {
 public:
  // Asked at `asked`, answered with `theirs`, heard at `heard`: the first and last by our clock,
  // ns.
  void add(int64_t asked, int64_t theirs, int64_t heard);

  // To add to their clock to get ours; 0 where nothing was heard.
  int64_t offset() const { return offset_; }
  int64_t within() const { return within_; }  // how wrong that may be

 private:
  bool any_ = false;
  int64_t offset_ = 0;
  int64_t within_ = 0;
};

}  // namespace dure
