// Text to token ids and back, as `tokenizer.json` of Hugging Face tokenizers defines it: byte-level
// BPE and SentencePiece-style BPE with byte fallback.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace dure {

struct EncodeOptions {
  bool add_special = false;   // what the post-processor adds (a BOS); rendered chats want none
  bool parse_special = true;  // special tokens written out in the text become their single id
};

class Tokenizer {
 public:
  // Reads `model`/tokenizer.json, or the metadata of a GGUF file. Throws bad_input naming the file
  // and field for anything that this reader does not implement: nothing is silently ignored.
  static std::shared_ptr<const Tokenizer> load(const std::filesystem::path& model);
  // Whether there is one to load, right or wrong.
  static bool is_in(const std::filesystem::path& model);
  static std::shared_ptr<const Tokenizer> parse(std::string_view tokenizer_json,
                                                std::string_view what);

  ~Tokenizer();
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  // Throws bad_input for text that is not UTF-8 or above 1 GiB, and where a split pattern of the
  // file backtracks without end. Safe from several threads.
  std::vector<int32_t> encode(std::string_view text, const EncodeOptions& options = {}) const;
  // Always valid UTF-8: bytes that form no character become U+FFFD. Unknown ids add nothing.
  std::string decode(const std::vector<int32_t>& ids, bool skip_special) const;

  int32_t vocabulary_size() const;              // one above the largest id
  int32_t id_of(std::string_view token) const;  // -1 if it is not an entry
  std::string_view token_of(int32_t id) const;  // as written in tokenizer.json; "" if unknown
  bool is_special(int32_t id) const;

  struct Impl;
  const Impl& impl() const { return *impl_; }

 private:
  explicit Tokenizer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Turns ids into text one by one; never hands out a part of a character.
class StreamDecoder {
 public:
  StreamDecoder(std::shared_ptr<const Tokenizer> tokenizer, bool skip_special);
  std::string push(int32_t id);  // the text that may be sent now, possibly empty
  std::string finish();          // what the end of the sequence adds

 private:
  std::string stripped(std::string text);

  std::shared_ptr<const Tokenizer> tokenizer_;
  bool skip_special_;
  bool started_ = false;     // whether a token has added anything
  uint32_t strip_left_ = 0;  // characters that may still be dropped from the front of the text
  std::string held_;         // bytes that may still become a character
};

}  // namespace dure
