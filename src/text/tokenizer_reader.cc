// tokenizer.json into the parts of a tokenizer. simdjson reads the file, since vocabulary and
// merges run to tens of megabytes; the small components go through the house's strict JSON reader.
#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "text/component.h"
#include "text/tokenizer_impl.h"

namespace dure {
namespace {

using simdjson::dom::element;

constexpr int64_t max_id = int64_t{1} << 24;
constexpr size_t max_depth = 128;
constexpr size_t max_added_tokens = 1'000'000;
constexpr size_t max_token = size_t{1} << 20;  // bytes

class Reader {
 public:
  Reader(element root, std::string_view what) : root_(root), what_(what) {}

  std::unique_ptr<Tokenizer::Impl> read() {
    if (!root_.is_object()) refuse("", "not an object");
    check_model_kind();
    read_vocabulary();
    read_merges();
    for (const std::string_view token : impl_->tokens) source_.in_model.push_back(!token.empty());
    read_added_tokens();
    lay_out_tokens();
    impl_->normalizer = Normalizer::parse(small("normalizer"), path("normalizer"));
    impl_->pre_tokenizer = PreTokenizer::parse(small("pre_tokenizer"), path("pre_tokenizer"));
    impl_->decoder = TokenDecoder::parse(small("decoder"), path("decoder"));
    impl_->around =
        parse_post_processor(small("post_processor"), static_cast<int32_t>(impl_->tokens.size()),
                             path("post_processor"));
    place_added_tokens();
    source_.in_model.resize(impl_->tokens.size());
    source_.byte_level = impl_->pre_tokenizer.byte_level();
    source_.tokens = impl_->tokens;
    impl_->bpe = std::make_unique<const Bpe>(std::move(source_));
    return std::move(impl_);
  }

 private:
  [[noreturn]] void refuse(std::string_view field, std::string_view why) const {
    component::refuse(path(field), why);
  }

  std::string path(std::string_view field) const {
    return field.empty() ? std::string(what_) : fmt::format("{}: {}", what_, field);
  }

  static std::optional<element> find(element object, std::string_view key) {
    element value;
    if (object[key].get(value) != simdjson::SUCCESS || value.is_null()) return {};
    return value;
  }

  // A component by the strict reader; null if absent. `truncation` and `padding` shape batches for
  // training and never apply here.
  Json small(std::string_view key) const {
    const auto value = find(root_, key);
    if (!value) return Json();
    const std::string text = simdjson::minify(*value);
    return parse_json(text, path(key));
  }

  std::string_view text_of(element value, std::string_view field) const {
    std::string_view text;
    if (value.get(text) != simdjson::SUCCESS) refuse(field, "not a string");
    if (text.size() > max_token) refuse(field, "a string above 1 MiB");
    return text;
  }

  bool flag(element object, std::string_view key, bool otherwise, std::string_view field) const {
    const auto value = find(object, key);
    if (!value) return otherwise;
    bool set = false;
    if (value->get(set) != simdjson::SUCCESS) refuse(field, fmt::format("'{}' is no flag", key));
    return set;
  }

  int32_t id_of(element value, std::string_view field) const {
    int64_t id = 0;
    if (value.get(id) != simdjson::SUCCESS) refuse(field, "an id is not a whole number");
    if (id < 0 || id >= max_id) refuse(field, fmt::format("the id {} is not below 2^24", id));
    return static_cast<int32_t>(id);
  }

  void check_model_kind() {
    const auto model = find(root_, "model");
    if (!model || !model->is_object()) refuse("model", "missing");
    model_ = *model;
    if (const auto type = find(model_, "type"); type && text_of(*type, "model.type") != "BPE")
      refuse("model.type",
             fmt::format("'{}' is not implemented, only BPE is", text_of(*type, "model.type")));
    for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
      const auto value = find(model_, key);
      if (value && !text_of(*value, fmt::format("model.{}", key)).empty())
        refuse(fmt::format("model.{}", key), "not implemented");
    }
    if (const auto dropout = find(model_, "dropout")) {
      double rate = 0;
      if (dropout->get(rate) != simdjson::SUCCESS || rate != 0)
        refuse("model.dropout", "not implemented: ids would be random");
    }
    source_.byte_fallback = flag(model_, "byte_fallback", false, "model");
    source_.fuse_unknown = flag(model_, "fuse_unk", false, "model");
    source_.ignore_merges = flag(model_, "ignore_merges", false, "model");
  }

  // Strings of the parsed document live as long as it does; lay_out_tokens copies them.
  void put(int32_t id, std::string_view text, std::string_view field) {
    const auto index = static_cast<size_t>(id);
    if (index >= impl_->tokens.size()) impl_->tokens.resize(index + 1);
    if (!impl_->tokens[index].empty())
      refuse(field, fmt::format("the id {} belongs to two tokens", id));
    impl_->tokens[index] = text;
  }

  void read_vocabulary() {
    simdjson::dom::object vocabulary;
    const auto value = find(model_, "vocab");
    if (!value || value->get(vocabulary) != simdjson::SUCCESS)
      refuse("model.vocab", "missing or not an object");
    impl_->by_token = StringIndex(vocabulary.size());
    for (const auto& [text, id_value] : vocabulary) {
      const int32_t id = id_of(id_value, "model.vocab");
      if (text.size() > max_token) refuse("model.vocab", "a token above 1 MiB");
      if (text.empty()) continue;  // no text can reach it
      if (!impl_->by_token.insert(text, id))
        refuse("model.vocab", fmt::format("the token '{}' occurs twice", text));
      put(id, text, "model.vocab");
    }
    if (impl_->tokens.empty()) refuse("model.vocab", "empty");
  }

  void read_added_tokens() {
    const auto list = find(root_, "added_tokens");
    if (!list) return;
    simdjson::dom::array items;
    if (list->get(items) != simdjson::SUCCESS) refuse("added_tokens", "not a list");
    StringIndex seen;
    for (const element item : items) {
      const std::string field = fmt::format("added_tokens[{}]", added_.size());
      if (added_.size() >= max_added_tokens) refuse(field, "more than a million of them");
      const auto content = find(item, "content");
      const auto id = find(item, "id");
      if (!content || !id) refuse(field, "'content' or 'id' is missing");
      const std::string_view text = text_of(*content, field);
      if (text.empty() || text.size() > AddedTokens::max_length)
        refuse(field, "'content' is empty or above 1024 bytes");
      AddedToken token{std::string(text), id_of(*id, field)};
      token.special = flag(item, "special", false, field);
      token.single_word = flag(item, "single_word", false, field);
      token.lstrip = flag(item, "lstrip", false, field);
      token.rstrip = flag(item, "rstrip", false, field);
      token.normalized = flag(item, "normalized", !token.special, field);
      if (!seen.insert(text, token.id)) refuse(field, fmt::format("'{}' is listed twice", text));
      const int32_t known = impl_->by_token.find(text);
      if (known >= 0 && known != token.id)
        refuse(field, fmt::format("'{}' has id {}, but {} in model.vocab", text, token.id, known));
      if (known < 0) {
        put(token.id, text, field);
        impl_->by_token.insert(text, token.id);
      }
      added_.push_back(std::move(token));
    }
  }

  // Moves the text of all tokens into one block of our own.
  void lay_out_tokens() {
    size_t total = 0;
    for (const std::string_view token : impl_->tokens) total += token.size();
    impl_->arena.reserve(total);  // views into it must not move
    impl_->by_token = StringIndex(impl_->tokens.size());
    for (size_t id = 0; id < impl_->tokens.size(); ++id) {
      std::string_view& token = impl_->tokens[id];
      if (token.empty()) continue;
      const size_t begin = impl_->arena.size();
      impl_->arena += token;
      token = std::string_view(impl_->arena).substr(begin);
      impl_->by_token.insert(token, static_cast<int32_t>(id));
    }
  }

  void place_added_tokens() {
    impl_->special.assign(impl_->tokens.size(), false);
    std::vector<AddedToken> raw;
    std::vector<AddedToken> normalized;
    Regex::Scratch scratch;
    StringIndex seen;
    for (AddedToken& token : added_) {
      impl_->special[static_cast<size_t>(token.id)] = token.special;
      if (!token.normalized) {
        raw.push_back(std::move(token));
        continue;
      }
      // It is looked for, and decoded, as the normalizer would leave it.
      std::string content = impl_->normalizer.apply(token.content, scratch);
      if (content.empty() || content.size() > AddedTokens::max_length)
        refuse("added_tokens", fmt::format("token {} is normalised away", token.id));
      if (content != token.content) impl_->rewritten.emplace(token.id, content);
      token.content = std::move(content);
      normalized.push_back(std::move(token));
    }
    for (const AddedToken& token : normalized) {
      if (!seen.insert(token.content, token.id))
        refuse("added_tokens", fmt::format("'{}' is there twice once normalised", token.content));
    }
    impl_->raw_added = AddedTokens(std::move(raw));
    impl_->normalized_added = AddedTokens(std::move(normalized));
  }

  void read_merges() {
    simdjson::dom::array merges;
    const auto value = find(model_, "merges");
    if (!value || value->get(merges) != simdjson::SUCCESS)
      refuse("model.merges", "missing or not a list");
    source_.merges.reserve(merges.size());
    source_.merged.reserve(merges.size());
    std::string joined;
    for (const element item : merges) {
      const auto [left, right] = pair_of(item);
      joined.assign(left).append(right);
      const int32_t ids[] = {merge_id(left), merge_id(right), merge_id(joined)};
      source_.merges.emplace_back(ids[0], ids[1]);
      source_.merged.push_back(ids[2]);
    }
    if (const auto unknown = find(model_, "unk_token")) {
      source_.unknown = impl_->by_token.find(text_of(*unknown, "model.unk_token"));
      if (source_.unknown < 0) refuse("model.unk_token", "not in the vocabulary");
    }
  }

  int32_t merge_id(std::string_view token) const {
    const int32_t id = impl_->by_token.find(token);
    if (id < 0)
      refuse(fmt::format("model.merges[{}]", source_.merges.size()),
             fmt::format("'{}' is not in the vocabulary", token));
    return id;
  }

  // A merge is ["a", "b"] or "a b".
  std::pair<std::string_view, std::string_view> pair_of(element item) const {
    const auto fail = [this] {
      refuse(fmt::format("model.merges[{}]", source_.merges.size()), "not a pair of tokens");
    };
    simdjson::dom::array pair;
    if (item.get(pair) == simdjson::SUCCESS) {
      std::string_view sides[2];
      size_t count = 0;
      for (const element side : pair) {
        if (count == 2 || side.get(sides[count]) != simdjson::SUCCESS) fail();
        ++count;
      }
      if (count != 2) fail();
      return {sides[0], sides[1]};
    }
    std::string_view text;
    if (item.get(text) != simdjson::SUCCESS) fail();
    const size_t space = text.find(' ');
    if (space == std::string_view::npos || text.find(' ', space + 1) != std::string_view::npos)
      fail();
    return {text.substr(0, space), text.substr(space + 1)};
  }

  element root_;
  std::string_view what_;
  element model_;
  std::unique_ptr<Tokenizer::Impl> impl_ = std::make_unique<Tokenizer::Impl>();
  std::vector<AddedToken> added_;
  BpeSource source_;
};

}  // namespace

std::unique_ptr<Tokenizer::Impl> read_tokenizer(std::string_view json, std::string_view what) {
  simdjson::dom::parser parser(simdjson::SIMDJSON_MAXSIZE_BYTES);
  simdjson::padded_string padded(json);
  element root;
  auto error = parser.allocate(std::max<size_t>(json.size(), 64), max_depth);
  if (error == simdjson::SUCCESS) error = parser.parse(padded).get(root);
  if (error != simdjson::SUCCESS)
    throw_bad_input(fmt::format("{}: not JSON: {}", what, simdjson::error_message(error)),
                    "The file may be cut short; fetch it again.");
  return Reader(root, what).read();
}

}  // namespace dure
