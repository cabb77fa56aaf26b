// See gguf_tokenizer.h.
#include "text/gguf_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/utf8.h"

namespace dure {
namespace {

constexpr auto tokens_key = "tokenizer.ggml.tokens";

// Text is written by hand where there are hundreds of thousands of entries.
class JsonWriter {
 public:
  JsonWriter(const GgufVocabulary& vocabulary, const std::string& what)
      : vocabulary_(vocabulary), what_(what) {
    check_tokens();
  }

  std::string write() {
    if (vocabulary_.model == "gpt2") {
      write_bytes();
    } else if (vocabulary_.model == "llama") {
      write_scored();
    } else {
      refuse("tokenizer.ggml.model",
             vocabulary_.model.empty()
                 ? std::string("the file has no tokenizer")
                 : fmt::format("\"{:.40}\" is not supported", vocabulary_.model),
             "supported: gpt2 (BPE over bytes) and llama (by scores)");
    }
    return std::move(out_);
  }

 private:
  [[noreturn]] void refuse(std::string_view key, std::string_view problem, std::string hint) const {
    throw_bad_input(fmt::format("{}: {}: {}", what_, key, problem), std::move(hint),
                    std::string(key));
  }

  void check_tokens() const {
    for (size_t i = 0; i < vocabulary_.tokens.size(); ++i) {
      const std::string& token = vocabulary_.tokens[i];
      if (utf8::first_invalid(token) == token.size()) continue;
      refuse(tokens_key, fmt::format("entry {} is not UTF-8", i),
             "the file is damaged or was written by a broken tool: download it again");
    }
  }

  void write_bytes() {
    const auto cut = find_gguf_pre_tokenizer(vocabulary_.pre);
    if (!cut) {
      refuse("tokenizer.ggml.pre",
             fmt::format("\"{:.60}\", a way of cutting text that is not known", vocabulary_.pre),
             "words would become other tokens than the model has learned, so it is refused; a "
             "Hugging Face folder of the model says how in its tokenizer.json");
    }
    begin(cut->composes ? R"({"type":"NFC"})" : "null", cut->json,
          R"({"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true})");
    out_ +=
        fmt::format(R"("model":{{"type":"BPE","ignore_merges":{},"vocab":{{)", cut->whole_pieces);
    write_vocabulary();
    out_ += R"(},"merges":[)";
    for (const std::string& merge : vocabulary_.merges) {
      // A half may begin with a space, which then is not the one between.
      const size_t space = merge.find(' ', 1);
      write_merge(std::string_view(merge).substr(0, space),
                  std::string_view(merge).substr(space + 1));
    }
    out_ += "]}}";
  }

  void write_scored() {
    if (vocabulary_.scores.empty()) {
      refuse("tokenizer.ggml.scores", "missing", "a tokenizer of this kind merges by them");
    }
    const bool prefix = vocabulary_.add_space_prefix.value_or(true);
    const std::string space = R"({"type":"Replace","pattern":{"String":" "},"content":"▁"})";
    const std::string normalizer =
        prefix ? R"({"type":"Sequence","normalizers":[{"type":"Prepend","prepend":"▁"},)" + space +
                     "]}"
               : space;
    std::string decoder =
        R"({"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"▁"},)"
        R"("content":" "},{"type":"ByteFallback"},{"type":"Fuse"})";
    if (prefix) decoder += R"(,{"type":"Strip","content":" ","start":1,"stop":0})";
    begin(normalizer, "null", decoder + "]}");
    out_ += R"("model":{"type":"BPE","byte_fallback":true,"fuse_unk":true,)";
    if (vocabulary_.unknown) {
      out_ += R"("unk_token":)" +
              quoted(vocabulary_.tokens[static_cast<size_t>(*vocabulary_.unknown)]) + ",";
    }
    out_ += R"("vocab":{)";
    write_vocabulary();
    out_ += R"(},"merges":[)";
    write_scored_merges();
    out_ += "]}}";
  }

  // Two tokens become a third if they are its halves, the one with the highest score first.
  void write_scored_merges() {
    const auto& tokens = vocabulary_.tokens;
    std::unordered_map<std::string_view, int32_t> ids;
    for (size_t i = 0; i < tokens.size(); ++i) ids.emplace(tokens[i], static_cast<int32_t>(i));
    std::vector<int32_t> order;
    for (size_t i = 0; i < tokens.size(); ++i) {
      const GgufTokenType type = vocabulary_.types[i];
      const bool made = type == GgufTokenType::normal || type == GgufTokenType::user_defined;
      if (made && ids.at(tokens[i]) == static_cast<int32_t>(i)) {
        order.push_back(static_cast<int32_t>(i));
      }
    }
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
      return vocabulary_.scores[static_cast<size_t>(a)] >
             vocabulary_.scores[static_cast<size_t>(b)];
    });
    for (int32_t id : order) {
      const std::string_view token = tokens[static_cast<size_t>(id)];
      for (size_t cut = utf8::length(token.empty() ? ' ' : token[0]); cut < token.size();
           cut += utf8::length(token[cut])) {
        if (ids.contains(token.substr(0, cut)) && ids.contains(token.substr(cut))) {
          write_merge(token.substr(0, cut), token.substr(cut));
        }
      }
    }
  }

  static std::string quoted(std::string_view text) { return Json(std::string(text)).dump(); }

  void comma(char after) {
    if (out_.back() != after) out_ += ',';
  }

  void begin(std::string_view normalizer, std::string_view pre_tokenizer,
             std::string_view decoder) {
    out_ = fmt::format(R"({{"normalizer":{},"pre_tokenizer":{},"decoder":{},"post_processor":{},)",
                       normalizer, pre_tokenizer, decoder, around());
    out_ += R"("added_tokens":[)";
    for (size_t i = 0; i < vocabulary_.tokens.size(); ++i) {
      const GgufTokenType type = vocabulary_.types[i];
      const bool special = type == GgufTokenType::control || type == GgufTokenType::unknown;
      if ((!special && type != GgufTokenType::user_defined) || vocabulary_.tokens[i].empty()) {
        continue;
      }
      comma('[');
      out_ += fmt::format(R"({{"id":{},"content":{},"special":{},"normalized":false}})", i,
                          quoted(vocabulary_.tokens[i]), special);
    }
    out_ += "],";
  }

  // What is put before and after a text that asks for it.
  std::string around() const {
    Json single = Json::array();
    Json special = Json::object();
    const auto add = [&](int32_t id) {
      const std::string& token = vocabulary_.tokens[static_cast<size_t>(id)];
      single.push_back({{"SpecialToken", {{"id", token}, {"type_id", 0}}}});
      special[token] = {{"id", token}, {"ids", {id}}, {"tokens", {token}}};
    };
    if (begins_with_bos(vocabulary_)) add(*vocabulary_.bos);
    single.push_back({{"Sequence", {{"id", "A"}, {"type_id", 0}}}});
    if (vocabulary_.eos && vocabulary_.add_eos.value_or(false)) add(*vocabulary_.eos);
    if (special.empty()) return "null";
    return Json{{"type", "TemplateProcessing"},
                {"single", single},
                {"pair", Json::array()},
                {"special_tokens", special}}
        .dump();
  }

  void write_vocabulary() {
    std::unordered_map<std::string_view, bool> seen;
    for (size_t i = 0; i < vocabulary_.tokens.size(); ++i) {
      const std::string& token = vocabulary_.tokens[i];
      if (token.empty()) continue;
      if (!seen.emplace(token, true).second) {
        refuse(tokens_key, fmt::format("entry {} is there twice", i),
               "the file was written by a broken tool: convert the model anew");
      }
      comma('{');
      out_ += fmt::format("{}:{}", quoted(token), i);
    }
  }

  void write_merge(std::string_view left, std::string_view right) {
    comma('[');
    out_ += fmt::format("[{},{}]", quoted(left), quoted(right));
  }

  const GgufVocabulary& vocabulary_;
  const std::string& what_;
  std::string out_;
};

}  // namespace

bool begins_with_bos(const GgufVocabulary& vocabulary) {
  if (!vocabulary.bos) return false;
  if (vocabulary.add_bos) return *vocabulary.add_bos;
  if (vocabulary.model == "llama") return true;
  const auto cut = find_gguf_pre_tokenizer(vocabulary.pre);
  return cut && cut->begins_with_bos;
}

std::string tokenizer_json_of(const GgufVocabulary& vocabulary, const std::string& what) {
  return JsonWriter(vocabulary, what).write();
}

}  // namespace dure
