// What comes out of mpirun: lines of the ranks, tagged by --tag-output, and mpirun's own banners.
// The ranks' lines go on under their rank's name; the banners never do, but tell
// which rank died of what.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace dure {

struct RankDeath {  // the first rank that ended badly, as mpirun tells it
  int rank = -1;
  int signal = 0;  // that killed it; 0: none
  std::optional<int> status;
};

class RankOutput {
 public:
  // `forward` gets whole lines without their end, and whose they are.
  explicit RankOutput(std::function<void(int rank, std::string_view text)> forward)
      : forward_(std::move(forward)) {}

  void feed(std::string_view bytes);  // any piece of the stream
  void end();                         // a last line without its line break

  const std::optional<RankDeath>& death() const { return death_; }
  // The last few lines of the ranks, or of mpirun if it told of no death and no rank said anything;
  // in one line, "a / b", since it goes into messages.
  std::string last_words() const;

 private:
  void take_line(std::string_view line);
  void take_rank_line(int rank, std::string_view text);
  void take_banner_line(std::string_view line);
  RankDeath& death_of(int rank);

  std::function<void(int, std::string_view)> forward_;
  std::string partial_;
  std::deque<std::string> rank_lines_;
  std::deque<std::string> banner_lines_;
  bool guesses_follow_ = false;  // of mpirun, about a host that it did not reach
  std::optional<RankDeath> death_;
};

}  // namespace dure
