// The tokenizer as GGUF metadata states it, checked but not yet built.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gguf/metadata.h"

namespace dure {

// The format's numbers.
enum class GgufTokenType { normal = 1, unknown, control, user_defined, unused, byte };

struct GgufVocabulary {
  std::string model;  // "gpt2" (BPE over bytes), "llama" (by scores), …; empty: there is none
  std::string pre;    // how text is cut before merging; empty: not stated
  std::vector<std::string> tokens;
  std::vector<GgufTokenType> types;  // of each token
  std::vector<double> scores;        // of each token, or empty
  std::vector<std::string> merges;   // "left right", in order of rank
  std::optional<int32_t> bos, eos, unknown;
  std::vector<int32_t> ends;  // all that end an answer: eos, and those of a turn or a message
  std::optional<bool> add_bos, add_eos, add_space_prefix;
  std::optional<std::string> chat_template;
};

// Throws bad_input naming file and key: for lists of other lengths, ids beyond the tokens, merges
// that are no pairs.
GgufVocabulary read_gguf_vocabulary(const GgufMetadata& metadata);

}  // namespace dure
