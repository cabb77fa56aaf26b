// One sequence to be produced: what the engine needs of a request, and where its text goes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "protocol/messages.h"

namespace dure {

struct GenerationEnd {
  bool stopped = false;  // by a stop id or string; else max_tokens was reached
  int32_t prompt_tokens = 0;
  int32_t completion_tokens = 0;  // the stop id included, as every API of this kind counts
};

// Called on the engine's thread: must not block. Any number of on_text(), then one of the others;
// after a cancellation nothing.
class GenerationSink {
 public:
  virtual ~GenerationSink() = default;
  virtual void on_text(std::string_view text) = 0;  // never empty, whole characters
  virtual void on_end(const GenerationEnd& end) = 0;
  virtual void on_error(const Error& error) = 0;
};

struct Generation {
  std::vector<int32_t> prompt;
  int32_t max_tokens = 1;
  SamplingParams sampling;
  std::vector<int32_t> stop_ids;          // end of sequence included, unless it is to be ignored
  std::vector<std::string> stop_strings;  // none empty
  bool skip_special = true;               // special tokens are not shown
  bool show_stop_string = false;
  std::shared_ptr<GenerationSink> sink;
};

}  // namespace dure
