// The tokenizer of a GGUF file as the tokenizer.json that it was made from, so that one reader
// builds both.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "gguf/vocabulary.h"

namespace dure {

// `what`: the file, for errors. Throws bad_input for a kind of tokenizer, or a way of cutting text
// ("tokenizer.ggml.pre"), that is not known.
std::string tokenizer_json_of(const GgufVocabulary& vocabulary, const std::string& what);

// Whether texts begin with the token that the file calls BOS: as it says, or as tokenizers of its
// kind do.
bool begins_with_bos(const GgufVocabulary& vocabulary);

// How a BPE over bytes cuts text, by its name in GGUF files.
struct GgufPreTokenizer {
  std::string_view json;         // "pre_tokenizer" of tokenizer.json
  bool composes = false;         // text is first composed (NFC)
  bool whole_pieces = false;     // a piece that is a token is not merged anew
  bool begins_with_bos = false;  // where the file does not say
};
std::optional<GgufPreTokenizer> find_gguf_pre_tokenizer(std::string_view name);

}  // namespace dure
