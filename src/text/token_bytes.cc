// See token_bytes.h. The same cases as StreamDecoder::push, one token at a time.
#include "text/token_bytes.h"

#include "text/byte_alphabet.h"
#include "text/tokenizer_impl.h"

namespace dure {

std::vector<std::string> token_bytes(const Tokenizer& tokenizer) {
  const Tokenizer::Impl& impl = tokenizer.impl();
  std::vector<std::string> out(static_cast<size_t>(tokenizer.vocabulary_size()));
  for (int32_t id = 0; id < tokenizer.vocabulary_size(); ++id) {
    std::string& bytes = out[static_cast<size_t>(id)];
    std::string_view token = tokenizer.token_of(id);
    if (token.empty() || tokenizer.is_special(id)) continue;
    const auto rewritten = impl.rewritten.find(id);
    if (rewritten != impl.rewritten.end()) token = rewritten->second;
    switch (impl.decoder.kind()) {
      case TokenDecoder::Kind::bytes:
        bytes = rewritten != impl.rewritten.end()
                    ? bytes_of_stand_ins(token).value_or(std::string(token))
                    : std::string(impl.bpe->bytes_of(id));
        break;
      case TokenDecoder::Kind::words:
        bytes = std::string(" ").append(token);
        break;
      case TokenDecoder::Kind::fragments:
        bytes = impl.decoder.fragment(token, false);
        if (const int byte = impl.decoder.byte_of(bytes); byte >= 0) {
          bytes.assign(1, static_cast<char>(byte));
        }
    }
  }
  return out;
}

}  // namespace dure
