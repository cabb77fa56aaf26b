// Any bytes as a stream of events, cut at a place that the first byte says: the same events as in
// one piece, each of which is read or refused.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "load/answer_event.h"
#include "load/sse.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const size_t cut = std::min<size_t>(data[0], bytes.size());
  std::vector<std::string> whole;
  std::vector<std::string> pieces;
  dure::load::SseParser one;
  dure::load::SseParser other;
  const auto into = [](std::vector<std::string>& events) {
    return [&events](std::string_view event) {
      events.emplace_back(event);
      return true;
    };
  };
  one.feed(bytes, into(whole));
  other.feed(bytes.substr(0, cut), into(pieces));
  other.feed(bytes.substr(cut), into(pieces));
  DURE_CHECK(whole == pieces);
  for (const std::string& event : whole) {
    dure::load::error_message_of(event);
    try {
      dure::load::parse_answer_event(event);
    } catch (const dure::Error&) {
    }
  }
  return 0;
}
