// Pages for sequences whose caller gives each its own for all its life: what runs without a
// scheduler (verify, generate, bench-local).
#pragma once

#include <cstdint>
#include <vector>

#include "cost/page_layout.h"
#include "protocol/messages.h"

namespace dure {

class OwnPages {
 public:
  // For sequences of at most `context` tokens, StartGroup's.
  OwnPages(const ModelSpec& spec, int64_t context, int64_t page_tokens);

  int64_t of_a_sequence() const { return static_cast<int64_t>(table_of_.size()) * blocks_; }
  // What the tokens [start, end) of the `index`-th sequence of a dp group see and write.
  std::vector<PageTable> tables(int64_t index, int64_t start, int64_t end) const;

 private:
  int64_t page_tokens_;
  int64_t blocks_;                   // of a sequence
  std::vector<PageClass> table_of_;  // [tables]: the class of each
};

}  // namespace dure
