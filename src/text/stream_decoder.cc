// Ids to text one by one. Decoding a whole list is the same work, so that a stream and its whole
// always agree.
#include "base/utf8.h"
#include "text/byte_alphabet.h"
#include "text/tokenizer_impl.h"

namespace dure {
namespace {

// The text of a run of byte tokens: all of it or, if it is not UTF-8, one U+FFFD for each byte.
std::string run_text(const std::string& run) {
  if (utf8::first_invalid(run) == run.size()) return run;
  std::string text;
  for (size_t i = 0; i < run.size(); ++i) text += utf8::replacement;
  return text;
}

}  // namespace

StreamDecoder::StreamDecoder(std::shared_ptr<const Tokenizer> tokenizer, bool skip_special)
    : tokenizer_(std::move(tokenizer)),
      skip_special_(skip_special),
      strip_left_(tokenizer_->impl().decoder.strip_count()) {}

std::string StreamDecoder::push(int32_t id) {
  const Tokenizer::Impl& impl = tokenizer_->impl();
  std::string_view token = tokenizer_->token_of(id);
  if (token.empty() || (skip_special_ && tokenizer_->is_special(id))) return "";
  const bool first = !started_;
  started_ = true;
  const auto rewritten = impl.rewritten.find(id);
  if (rewritten != impl.rewritten.end()) token = rewritten->second;
  switch (impl.decoder.kind()) {
    case TokenDecoder::Kind::bytes:
      if (rewritten != impl.rewritten.end())
        held_ += bytes_of_stand_ins(token).value_or(std::string(token));
      else
        held_ += impl.bpe->bytes_of(id);
      return utf8::take_complete(held_);
    case TokenDecoder::Kind::words:
      return std::string(first ? "" : " ").append(token);
    case TokenDecoder::Kind::fragments:
      break;
  }
  std::string fragment = impl.decoder.fragment(token, first);
  if (const int byte = impl.decoder.byte_of(fragment); byte >= 0) {
    held_.push_back(static_cast<char>(byte));
    return "";
  }
  std::string text = run_text(held_) + fragment;
  held_.clear();
  return stripped(std::move(text));
}

std::string StreamDecoder::finish() {
  std::string text;
  if (tokenizer_->impl().decoder.kind() == TokenDecoder::Kind::fragments)
    text = stripped(run_text(held_));
  else
    text = utf8::repaired(held_);
  held_.clear();
  return text;
}

// Drops what the decoder strips from the front of the whole text, as far as it has not been yet.
std::string StreamDecoder::stripped(std::string text) {
  const std::string& character = tokenizer_->impl().decoder.strip_character();
  while (strip_left_ > 0 && !text.empty()) {
    if (!text.starts_with(character)) {
      strip_left_ = 0;
      break;
    }
    text.erase(0, character.size());
    --strip_left_;
  }
  return text;
}

}  // namespace dure
