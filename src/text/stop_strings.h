// Stop strings in a text that comes in pieces: what lies before the first one is handed out as soon
// as it can no longer be part of one, so that no fragment of a stop string is ever shown.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace dure {

// The result does not depend on how the text is cut into pieces: the stop string that is complete
// first ends it, and of several that end on the same byte the longest. Linear time in the text
// (Aho and Corasick 1975).
class StopStrings {
 public:
  // No string may be empty; no strings at all is fine.
  explicit StopStrings(const std::vector<std::string>& stops);

  // The text that may be shown now. After a stop string nothing comes any more.
  std::string push(std::string_view piece);
  // What was held back, when the text has ended by itself.
  std::string finish();

  bool stopped() const { return stopped_; }
  const std::string& found() const { return found_; }  // the stop string, when stopped()

 private:
  struct Node {
    int32_t depth = 0;     // bytes of the prefix it stands for
    int32_t fallback = 0;  // the longest proper suffix that is a prefix of a stop string too
    int32_t ends = 0;      // length of the longest stop string that ends here, 0 if none
  };

  int32_t child(int32_t node, unsigned char byte) const;  // -1 if none
  void add(std::string_view stop);
  void link();
  int32_t step(int32_t node, unsigned char byte) const;

  std::vector<Node> nodes_;
  std::unordered_map<uint64_t, int32_t> edges_;  // node * 256 + byte -> node
  int32_t state_ = 0;
  std::string held_;  // at least the last `depth` bytes of the text
  std::string found_;
  bool stopped_ = false;
};

}  // namespace dure
