// From token ids to the text a client may see: whole characters only, nothing of a stop string.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "server/generation.h"
#include "text/stop_strings.h"
#include "text/tokenizer.h"

namespace dure {

class TextPipeline {
 public:
  TextPipeline(std::shared_ptr<const Tokenizer> tokenizer, const Generation& generation);

  std::string push(int32_t token);
  std::string finish();  // what was held back; the sequence has ended
  bool stopped() const { return stops_.stopped(); }
  const std::string& stop_string() const { return stops_.found(); }

 private:
  std::string through_stops(const std::string& text);

  StreamDecoder decoder_;
  StopStrings stops_;
  bool show_stop_string_;
  int32_t unstoppable_;  // tokens whose text no stop string is searched in: min_tokens
};

}  // namespace dure
