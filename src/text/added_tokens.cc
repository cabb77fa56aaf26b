// Longest match by narrowing a range of the sorted tokens byte by byte.
#include "text/added_tokens.h"

#include <algorithm>

#include "base/utf8.h"
#include "text/unicode.h"

namespace dure {
namespace {

// Word characters as Rust's regex crate has them, which decides about single_word.
bool is_word(char32_t code) {
  static const unicode::CodeSet set = unicode::property("Alphabetic")
                                          ->unite(*unicode::property("M"))
                                          .unite(*unicode::property("Nd"))
                                          .unite(*unicode::property("Pc"))
                                          .unite(unicode::CodeSet({{0x200C, 0x200D}}));
  return set.contains(code);
}

const char* previous_character(const char* p) {
  do {
    --p;
  } while ((static_cast<uint8_t>(*p) & 0xC0) == 0x80);
  return p;
}

bool ends_with_word(std::string_view text) {
  if (text.empty()) return false;
  const char* last = previous_character(text.data() + text.size());
  return is_word(utf8::next(last));
}

bool starts_with_word(std::string_view text) {
  const char* p = text.data();
  return !text.empty() && is_word(utf8::next(p));
}

size_t without_space_at_end(std::string_view text) {
  const char* end = text.data() + text.size();
  while (end != text.data()) {
    const char* const before = previous_character(end);
    const char* p = before;
    if (!unicode::white_space().contains(utf8::next(p))) break;
    end = before;
  }
  return static_cast<size_t>(end - text.data());
}

size_t space_at_start(std::string_view text) {
  const char* p = text.data();
  while (p != text.data() + text.size()) {
    const char* after = p;
    if (!unicode::white_space().contains(utf8::next(after))) break;
    p = after;
  }
  return static_cast<size_t>(p - text.data());
}

}  // namespace

AddedTokens::AddedTokens(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
  std::sort(tokens_.begin(), tokens_.end(),
            [](const AddedToken& a, const AddedToken& b) { return a.content < b.content; });
  for (const AddedToken& token : tokens_) begins_[static_cast<uint8_t>(token.content[0])] = true;
}

const AddedToken* AddedTokens::longest_at(std::string_view text) const {
  const AddedToken* longest = nullptr;
  auto low = tokens_.begin();
  auto high = tokens_.end();
  for (size_t depth = 0; depth < text.size(); ++depth) {
    // All of [low, high) agree with the text on `depth` bytes; keep those that agree on one more.
    const auto wanted = static_cast<uint8_t>(text[depth]);
    const auto byte = [depth](const AddedToken& token) {
      return static_cast<uint8_t>(token.content[depth]);
    };
    if (low->content.size() == depth) ++low;
    low = std::partition_point(low, high, [&](const auto& token) { return byte(token) < wanted; });
    high =
        std::partition_point(low, high, [&](const auto& token) { return byte(token) == wanted; });
    if (low == high) break;
    if (low->content.size() == depth + 1) longest = &*low;
    if (low + 1 == high && longest == &*low) break;
  }
  return longest;
}

void AddedTokens::cut(std::string_view text, bool parse_special, std::vector<TextSpan>& out) const {
  size_t done = 0;
  size_t at = 0;
  while (at < text.size()) {
    if (!begins_[static_cast<uint8_t>(text[at])]) {
      ++at;
      continue;
    }
    const AddedToken* token = longest_at(text.substr(at));
    if (token == nullptr) {
      ++at;
      continue;
    }
    size_t begin = at;
    size_t end = at + token->content.size();
    at = end;
    if (token->special && !parse_special) continue;
    if (token->single_word &&
        (ends_with_word(text.substr(0, begin)) || starts_with_word(text.substr(end))))
      continue;
    if (token->rstrip) end += space_at_start(text.substr(end));
    begin = std::max(begin, done);  // the token before may have taken white space of this one
    end = std::max(end, done);
    if (token->lstrip) begin = done + without_space_at_end(text.substr(done, begin - done));
    if (done < begin) out.push_back({-1, text.substr(done, begin - done)});
    out.push_back({token->id, text.substr(begin, end - begin)});
    done = end;
  }
  if (done < text.size()) out.push_back({-1, text.substr(done)});
}

}  // namespace dure
