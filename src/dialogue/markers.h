// Finding markers in a text that comes byte by byte: what may be the beginning of one is held back,
// and nothing else is.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace dure::dialogue {

struct Marker {
  std::string_view text;    // not empty; none is the beginning of another
  bool opens_line = false;  // only counts where nothing but white space is before it on its line
};

class MarkerScan {
 public:
  // The markers must outlive the scan.
  explicit MarkerScan(std::span<const Marker> markers) : markers_(markers) {}

  // Appends to `text` what is no part of a marker. The number of the marker that is complete with
  // this byte, -1 if none is.
  int feed(char byte, std::string& text);
  // The beginning of a marker that was not completed.
  std::string rest();
  bool empty() const { return held_.empty(); }

 private:
  std::span<const Marker> markers_;
  std::string held_;
  bool line_is_blank_ = true;
};

}  // namespace dure::dialogue
