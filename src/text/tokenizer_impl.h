// The parts of a loaded tokenizer, for the files of this folder.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "text/added_tokens.h"
#include "text/bpe.h"
#include "text/normalizer.h"
#include "text/post_processor.h"
#include "text/pre_tokenizer.h"
#include "text/string_index.h"
#include "text/token_decoder.h"
#include "text/tokenizer.h"

namespace dure {

struct Tokenizer::Impl {
  // Everything that one call of encode needs, allocated once per call.
  struct Scratch {
    PreTokenizer::Scratch pre_tokenizer;
    Bpe::Scratch bpe;
    std::vector<Piece> pieces;
  };

  void encode_text(std::string_view text, bool at_start, const EncodeOptions& options,
                   Scratch& scratch, std::vector<int32_t>& ids) const;

  std::string arena;                                   // the text of all tokens
  std::vector<std::string_view> tokens;                // [id] as written; "" if there is none
  std::vector<bool> special;                           // [id]
  std::unordered_map<int32_t, std::string> rewritten;  // added tokens that normalisation changes
  StringIndex by_token;
  AddedTokens raw_added;         // looked for in the text as it comes
  AddedTokens normalized_added;  // looked for after normalisation
  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
  std::unique_ptr<const Bpe> bpe;
  AddedAround around;
  TokenDecoder decoder;
};

// What the goldens compare: `text` normalised and cut into pieces, as text.
struct PreTokens {
  std::string normalized;
  std::vector<std::string> pieces;
};
PreTokens pre_tokens(const Tokenizer& tokenizer, std::string_view text);
std::string normalized(const Tokenizer& tokenizer, std::string_view text);

// Reads tokenizer.json (tokenizer_reader.cc).
std::unique_ptr<Tokenizer::Impl> read_tokenizer(std::string_view json, std::string_view what);

}  // namespace dure
