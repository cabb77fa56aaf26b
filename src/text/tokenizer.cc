// Encoding: added tokens, normalisation, pieces, merges.
#include "text/tokenizer.h"

#include <fmt/format.h>

#include <fstream>

#include "base/error.h"
#include "base/file_entry.h"
#include "base/utf8.h"
#include "gguf/gguf_model.h"
#include "gguf/vocabulary.h"
#include "text/gguf_tokenizer.h"
#include "text/tokenizer_impl.h"

namespace dure {
namespace {

constexpr size_t max_file = size_t{512} << 20;  // bytes
constexpr size_t max_text = size_t{1} << 30;    // bytes, also after normalisation

std::string read_file(const std::filesystem::path& path) {
  std::error_code status;
  // A pipe would be waited for, a device never ends.
  const bool plain = std::filesystem::is_regular_file(path, status);
  if (!plain && !status && is_there(path))
    throw_bad_input(fmt::format("{}: not a regular file", path.string()),
                    "A checkpoint folder needs its tokenizer.json.");
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const auto size = file ? static_cast<std::streamoff>(file.tellg()) : -1;
  if (size < 0)
    throw_bad_input(fmt::format("{}: cannot be read", path.string()),
                    "A checkpoint folder needs its tokenizer.json.");
  if (static_cast<size_t>(size) > max_file)
    throw_bad_input(fmt::format("{}: above 512 MiB", path.string()), "This is no tokenizer.json.");
  std::string text(static_cast<size_t>(size), '\0');
  file.seekg(0);
  if (!file.read(text.data(), size))
    throw_bad_input(fmt::format("{}: cannot be read to its end", path.string()),
                    "Check the file and the disk.");
  return text;
}

void check_size(size_t size) {
  if (size > max_text) throw_bad_input("text above 1 GiB", "Send it in parts.");
}

}  // namespace

Tokenizer::Tokenizer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Tokenizer::~Tokenizer() = default;

std::shared_ptr<const Tokenizer> Tokenizer::load(const std::filesystem::path& model) {
  if (const auto file = gguf_of(model)) {
    const GgufVocabulary vocabulary = read_gguf_vocabulary(read_gguf_metadata(*file));
    return parse(tokenizer_json_of(vocabulary, file->string()), file->string());
  }
  const std::filesystem::path path = model / "tokenizer.json";
  return parse(read_file(path), path.string());
}

bool Tokenizer::is_in(const std::filesystem::path& model) {
  if (const auto file = gguf_of(model)) {
    return !read_gguf_vocabulary(read_gguf_metadata(*file)).model.empty();
  }
  return is_there(model / "tokenizer.json");
}

std::shared_ptr<const Tokenizer> Tokenizer::parse(std::string_view tokenizer_json,
                                                  std::string_view what) {
  return std::shared_ptr<const Tokenizer>(new Tokenizer(read_tokenizer(tokenizer_json, what)));
}

std::vector<int32_t> Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  check_size(text.size());
  if (const size_t bad = utf8::first_invalid(text); bad != text.size())
    throw_bad_input(fmt::format("text is not UTF-8 at byte {}", bad), "Send UTF-8.");
  std::vector<int32_t> ids;
  ids.reserve(text.size() / 3 + 8);
  if (options.add_special) ids = impl_->around.before;
  Impl::Scratch scratch;
  std::vector<TextSpan> spans;
  impl_->raw_added.cut(text, options.parse_special, spans);
  for (const TextSpan& span : spans) {
    if (span.id >= 0)
      ids.push_back(span.id);
    else
      impl_->encode_text(span.text, span.text.data() == text.data(), options, scratch, ids);
  }
  if (options.add_special)
    ids.insert(ids.end(), impl_->around.after.begin(), impl_->around.after.end());
  return ids;
}

void Tokenizer::Impl::encode_text(std::string_view text, bool at_start,
                                  const EncodeOptions& options, Scratch& scratch,
                                  std::vector<int32_t>& ids) const {
  const std::string whole = normalizer.apply(std::string(text), scratch.pre_tokenizer.regex);
  check_size(whole.size());
  std::vector<TextSpan> spans;
  normalized_added.cut(whole, options.parse_special, spans);
  for (const TextSpan& span : spans) {
    if (span.id >= 0) {
      ids.push_back(span.id);
      continue;
    }
    std::string part(span.text);
    pre_tokenizer.apply(part, at_start && span.text.data() == whole.data(), scratch.pre_tokenizer,
                        scratch.pieces);
    check_size(part.size());
    for (const Piece piece : scratch.pieces)
      bpe->encode(std::string_view(part).substr(piece.begin, piece.end - piece.begin), scratch.bpe,
                  ids);
  }
}

std::string Tokenizer::decode(const std::vector<int32_t>& ids, bool skip_special) const {
  // Only the decoder's own life is tied to the pointer, so it need not own the tokenizer.
  StreamDecoder decoder(std::shared_ptr<const Tokenizer>(std::shared_ptr<void>(), this),
                        skip_special);
  std::string text;
  for (const int32_t id : ids) text += decoder.push(id);
  return text += decoder.finish();
}

int32_t Tokenizer::vocabulary_size() const {
  return static_cast<int32_t>(impl_->tokens.size());
}

int32_t Tokenizer::id_of(std::string_view token) const {
  return impl_->by_token.find(token);
}

std::string_view Tokenizer::token_of(int32_t id) const {
  return id >= 0 && id < vocabulary_size() ? impl_->tokens[static_cast<size_t>(id)]
                                           : std::string_view();
}

bool Tokenizer::is_special(int32_t id) const {
  return id >= 0 && id < vocabulary_size() && impl_->special[static_cast<size_t>(id)];
}

std::string normalized(const Tokenizer& tokenizer, std::string_view text) {
  Regex::Scratch scratch;
  return tokenizer.impl().normalizer.apply(std::string(text), scratch);
}

PreTokens pre_tokens(const Tokenizer& tokenizer, std::string_view text) {
  PreTokens out{normalized(tokenizer, text), {}};
  PreTokenizer::Scratch scratch;
  std::vector<Piece> pieces;
  std::string part = out.normalized;
  tokenizer.impl().pre_tokenizer.apply(part, true, scratch, pieces);
  for (const Piece piece : pieces)
    out.pieces.push_back(part.substr(piece.begin, piece.end - piece.begin));
  return out;
}

}  // namespace dure
