// See progress.h.
#include "cli/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/units.h"
#include "cli/terminal.h"

namespace dure {

Progress::Progress(std::string what)
    : what_(std::move(what)),
      visible_(is_terminal(stderr)),
      start_(std::chrono::steady_clock::now()) {}

Progress::~Progress() {
  if (drawn_) say(stderr, "\r\033[K");
}

void Progress::show(int64_t bytes_done, int64_t bytes_total) {
  if (!visible_ || bytes_total <= 0) return;
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
  const int columns = terminal_columns(stderr) - 1;
  say(stderr, fmt::format("\r{}\033[K",
                          progress_line(what_, bytes_done, bytes_total, elapsed.count(), columns)));
  drawn_ = true;
}

std::string progress_line(const std::string& what, int64_t bytes_done, int64_t bytes_total,
                          double seconds, int columns) {
  const double share =
      std::clamp(static_cast<double>(bytes_done) / static_cast<double>(bytes_total), 0.0, 1.0);
  std::string figures = fmt::format(" {:3.0f}%  {} of {}", share * 100, format_bytes(bytes_done),
                                    format_bytes(bytes_total));
  if (seconds > 0.5 && bytes_done > 0) {
    const double speed = static_cast<double>(bytes_done) / seconds;  // bytes per second
    figures += fmt::format(", {}/s, {:.0f} s left", format_bytes(static_cast<int64_t>(speed)),
                           std::ceil(static_cast<double>(bytes_total - bytes_done) / speed));
  }
  const int room = columns - display_width(what) - display_width(figures) - 1;
  if (room < 4) return what + figures;
  const int cells = std::min(room, 40);
  const int full = static_cast<int>(share * cells);
  std::string bar;
  for (int i = 0; i < cells; ++i) bar += i < full ? "█" : "░";
  return what + " " + bar + figures;
}

}  // namespace dure
