// Any bytes as an answer, whole and cut where the first byte says: the same outcome, and no crash.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/http_answer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const size_t cut = std::min<size_t>(data[0], bytes.size());
  dure::HttpAnswerReader one;
  dure::HttpAnswerReader other;
  std::string whole;
  std::string pieces;
  one.feed(bytes, whole);
  other.feed(bytes.substr(0, cut), pieces);
  other.feed(bytes.substr(cut), pieces);
  one.close();
  other.close();
  DURE_CHECK(one.state() == other.state() && one.has_head() == other.has_head());
  DURE_CHECK(whole == pieces);
  return 0;
}
