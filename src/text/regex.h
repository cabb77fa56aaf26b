// Finds the matches of a tokenizer's split pattern in a text, in Oniguruma's order, with a bound on
// the work: a pattern that backtracks without end is an error, not a hang.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace dure {

namespace regex {
struct Program;
}

class Regex {
 public:
  struct Match {
    size_t begin, end;  // bytes
  };
  // Memory that find_all reuses from call to call; one per thread.
  struct Scratch {
    struct Choice {
      uint32_t kind_or_pc;
      uint32_t position;
      uint32_t other;
    };
    std::vector<uint8_t> classes;   // of each character
    std::vector<uint32_t> offsets;  // byte offset of each character, and of the end
    std::vector<Choice> choices;
    std::vector<uint32_t> slots;
  };

  // Throws bad_input naming `what` for patterns that are wrong or not implemented.
  Regex(std::string_view pattern, std::string_view what);
  ~Regex();
  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;

  // All matches from left to right, not overlapping; an empty one right behind another does not
  // count. `text` must be valid UTF-8 below 4 GiB. Throws bad_input when the work exceeds a fixed
  // multiple of the length.
  void find_all(std::string_view text, Scratch& scratch, std::vector<Match>& out) const;

 private:
  std::string what_;
  std::unique_ptr<const regex::Program> program_;
};

}  // namespace dure
