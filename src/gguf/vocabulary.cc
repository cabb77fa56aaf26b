// See vocabulary.h.
#include "gguf/vocabulary.h"

#include <fmt/format.h>

#include <algorithm>

namespace dure {
namespace {

constexpr auto tokens_key = "tokenizer.ggml.tokens";

class VocabularyReader {
 public:
  explicit VocabularyReader(const GgufMetadata& metadata) : metadata_(metadata) {}

  GgufVocabulary read() {
    made_.model = metadata_.optional_text("tokenizer.ggml.model").value_or("");
    if (made_.model == "none" || made_.model == "no_vocab") made_.model.clear();
    made_.pre = metadata_.optional_text("tokenizer.ggml.pre").value_or("");
    made_.tokens = metadata_.texts(tokens_key);
    made_.chat_template = metadata_.optional_text("tokenizer.chat_template");
    if (!made_.model.empty() && made_.tokens.empty()) metadata_.fail(tokens_key, "missing");
    read_types();
    made_.scores = metadata_.numbers("tokenizer.ggml.scores");
    check_length("tokenizer.ggml.scores", made_.scores.size());
    read_merges();
    made_.bos = token("tokenizer.ggml.bos_token_id");
    made_.eos = token("tokenizer.ggml.eos_token_id");
    made_.unknown = token("tokenizer.ggml.unknown_token_id");
    for (const char* key : {"tokenizer.ggml.padding_token_id", "tokenizer.ggml.seperator_token_id",
                            "tokenizer.ggml.mask_token_id"}) {
      token(key);  // of no use here, but as wrong as any where it is wrong
    }
    for (const char* key : {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id",
                            "tokenizer.ggml.eom_token_id"}) {
      const auto id = token(key);
      if (id && std::find(made_.ends.begin(), made_.ends.end(), *id) == made_.ends.end()) {
        made_.ends.push_back(*id);
      }
    }
    made_.add_bos = metadata_.optional_boolean("tokenizer.ggml.add_bos_token");
    made_.add_eos = metadata_.optional_boolean("tokenizer.ggml.add_eos_token");
    made_.add_space_prefix = metadata_.optional_boolean("tokenizer.ggml.add_space_prefix");
    return std::move(made_);
  }

 private:
  void check_length(const char* key, size_t entries) const {
    if (entries == 0 || entries == made_.tokens.size()) return;
    metadata_.fail(key, fmt::format("{} entries for {} tokens", entries, made_.tokens.size()));
  }

  void read_types() {
    constexpr auto key = "tokenizer.ggml.token_type";
    constexpr auto most = static_cast<int64_t>(GgufTokenType::byte);
    for (int64_t type : metadata_.integers(key, 0, most)) {
      made_.types.push_back(type == 0 ? GgufTokenType::normal : static_cast<GgufTokenType>(type));
    }
    check_length(key, made_.types.size());
    made_.types.resize(made_.tokens.size(), GgufTokenType::normal);
  }

  void read_merges() {
    constexpr auto key = "tokenizer.ggml.merges";
    made_.merges = metadata_.texts(key);
    for (size_t i = 0; i < made_.merges.size(); ++i) {
      // Neither half is empty, and a half may itself begin with a space.
      const size_t space = made_.merges[i].find(' ', 1);
      if (made_.merges[i].size() < 3 || space == std::string::npos ||
          space + 1 == made_.merges[i].size()) {
        metadata_.fail(key, fmt::format("entry {} is no pair with a space between", i));
      }
    }
  }

  std::optional<int32_t> token(const char* key) const {
    // 2^32 - 1 is how some tools write that there is none.
    constexpr int64_t none = UINT32_MAX;
    const auto id = metadata_.optional_integer(key, -1, none);
    if (!id || *id == -1 || *id == none) return std::nullopt;
    if (*id >= static_cast<int64_t>(made_.tokens.size())) {
      metadata_.fail(key, fmt::format("{} of {} tokens", *id, made_.tokens.size()));
    }
    return static_cast<int32_t>(*id);
  }

  const GgufMetadata& metadata_;
  GgufVocabulary made_;
};

}  // namespace

GgufVocabulary read_gguf_vocabulary(const GgufMetadata& metadata) {
  return VocabularyReader(metadata).read();
}

}  // namespace dure
