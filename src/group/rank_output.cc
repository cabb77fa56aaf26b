// See rank_output.h. The banners are those of Open MPI 4.1 (help-orterun.txt, help-mpi-api.txt).
#include "group/rank_output.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <utility>

namespace dure {
namespace {

constexpr size_t longest_line = 4096;
constexpr size_t kept_lines = 5;

void keep(std::deque<std::string>& lines, std::string line) {
  lines.push_back(std::move(line));
  if (lines.size() > kept_lines) lines.pop_front();
}

// The number right behind `mark` in `line`.
std::optional<int> number_after(std::string_view line, std::string_view mark) {
  const size_t at = line.find(mark);
  if (at == std::string_view::npos) return std::nullopt;
  line.remove_prefix(at + mark.size());
  while (line.starts_with(' ')) line.remove_prefix(1);
  int number = 0;
  if (std::from_chars(line.data(), line.data() + line.size(), number).ec != std::errc()) {
    return std::nullopt;
  }
  return number;
}

// "[1,2]<stderr>:text" is text of rank 2.
std::optional<int> take_tag(std::string_view& line) {
  if (!line.starts_with('[')) return std::nullopt;
  const size_t close = line.find(']');
  if (close == std::string_view::npos) return std::nullopt;
  const std::string_view after = line.substr(close + 1);
  size_t tag = 0;
  for (const std::string_view stream : {"<stderr>:", "<stdout>:"}) {
    if (after.starts_with(stream)) tag = stream.size();
  }
  const std::optional<int> rank = number_after(line.substr(0, close), ",");
  if (tag == 0 || !rank) return std::nullopt;
  line = after.substr(tag);
  return rank;
}

}  // namespace

void RankOutput::feed(std::string_view bytes) {
  for (;;) {
    const size_t at = bytes.find('\n');
    partial_ += bytes.substr(0, at);
    if (partial_.size() > longest_line) partial_.resize(longest_line);
    if (at == std::string_view::npos) return;
    bytes.remove_prefix(at + 1);
    take_line(std::exchange(partial_, {}));
  }
}

void RankOutput::end() {
  if (!partial_.empty()) take_line(std::exchange(partial_, {}));
}

void RankOutput::take_line(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  std::string_view text = line;
  if (const std::optional<int> rank = take_tag(text)) {
    take_rank_line(*rank, text);
  } else {
    take_banner_line(line);
  }
}

void RankOutput::take_rank_line(int rank, std::string_view text) {
  if (text.empty()) return;
  const std::string name = fmt::format("rank {}: ", rank);
  if (text.starts_with(name)) text.remove_prefix(name.size());
  const std::string line = name + std::string(text);
  // A rank's error reaches the owner as a message, or else in the last words.
  if (!text.starts_with("error: ")) forward_(rank, text);
  // Notes and warnings are of what went on all the same.
  if (!text.starts_with("note: ") && !text.starts_with("warning: ")) keep(rank_lines_, line);
}

void RankOutput::take_banner_line(std::string_view line) {
  if (line.empty() || line.starts_with("-----")) return;
  if (const auto rank = number_after(line, "noticed that process rank")) {
    RankDeath& death = death_of(*rank);
    if (const auto signal = number_after(line, "exited on signal")) death.signal = *signal;
  } else if (const auto aborted = number_after(line, "MPI_ABORT was invoked on rank")) {
    death_of(*aborted);
  } else if (const auto improper = number_after(line, "has exited due to process rank")) {
    death_of(*improper).status = 0;
  } else if (const size_t name = line.find("Process name: [["); name != std::string_view::npos) {
    if (const auto failed = number_after(line, "],")) death_of(*failed);
  } else if (death_ && !death_->status) {
    auto status = number_after(line, "Exit code:");
    if (!status) status = number_after(line, "with errorcode");
    if (status) death_->status = status;
  }
  // What precedes the banner about a death, which may be lost in mpirun's haste, tells nothing.
  const bool empty_words = line.starts_with("Primary job  terminated normally") ||
                           line.starts_with("a non-zero exit code. Per user-direction");
  // This one lists all that could have been the cause; the remote shell has said what was.
  if (line.starts_with("ORTE was unable to reliably start") && !banner_lines_.empty()) {
    guesses_follow_ = true;
  }
  if (!empty_words && !guesses_follow_) keep(banner_lines_, std::string(line));
}

RankDeath& RankOutput::death_of(int rank) {
  if (!death_) death_ = RankDeath{rank, 0, std::nullopt};
  return *death_;
}

std::string RankOutput::last_words() const {
  // Once read, a banner about a death has no more to say than death().
  const bool ranks_only = death_ || !rank_lines_.empty();
  return fmt::format("{}", fmt::join(ranks_only ? rank_lines_ : banner_lines_, " / "));
}

}  // namespace dure
