// Server-sent events out of a stream of bytes, however it was cut into pieces.
// Source: HTML Living Standard, "9.2.6 Interpreting an event stream".
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace dure::load {

class SseParser {
 public:
  // Returns whether to go on.
  using OnEvent = std::function<bool(std::string_view data)>;

  // Calls on_event with the data of each event that is now complete: its data lines, joined by
  // line feeds. Lines end in LF, CRLF or CR; comments, other fields and events without data are
  // skipped. False as soon as on_event said so; what was left of `bytes` is then lost. Throws
  // bad_input where one event's data is longer than most_event_bytes.
  bool feed(std::string_view bytes, const OnEvent& on_event);

  static constexpr size_t most_event_bytes = size_t{16} << 20;

 private:
  bool end_line(const OnEvent& on_event);
  void append(std::string_view bytes);

  std::string line_;
  std::string data_;
  bool has_data_ = false;
  bool after_cr_ = false;  // an LF that comes next belongs to it
  bool first_line_ = true;
};

}  // namespace dure::load
