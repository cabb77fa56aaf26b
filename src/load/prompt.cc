// See prompt.h.
#include "load/prompt.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "base/error.h"
#include "load/draws.h"

namespace dure::load {
namespace {

// Short and common: most tokenizers have one token for each, with the blank in front.
constexpr std::array words = {
    "time",     "year",    "people",  "way",     "day",      "man",      "thing",   "woman",
    "life",     "child",   "world",   "school",  "state",    "family",   "group",   "country",
    "hand",     "part",    "place",   "case",    "week",     "company",  "system",  "program",
    "question", "work",    "number",  "night",   "point",    "home",     "water",   "room",
    "mother",   "area",    "money",   "story",   "fact",     "month",    "lot",     "right",
    "study",    "book",    "eye",     "job",     "word",     "business", "issue",   "side",
    "kind",     "head",    "house",   "service", "friend",   "father",   "power",   "hour",
    "game",     "line",    "end",     "member",  "law",      "car",      "city",    "name",
    "team",     "minute",  "idea",    "body",    "back",     "parent",   "face",    "level",
    "office",   "door",    "health",  "person",  "art",      "war",      "history", "party",
    "result",   "change",  "morning", "reason",  "research", "girl",     "guy",     "moment",
    "air",      "teacher", "force",   "table",   "field",    "tree",     "river",   "road",
    "stone",    "light",   "music",   "paper",   "sea",      "ship",     "fire",    "bird",
    "fish",     "horse",   "bread",   "milk",    "salt",     "iron",     "gold",    "blue",
    "green",    "white",   "black",   "red",     "small",    "large",    "early",   "late",
    "open",     "close",   "north",   "south",   "east",     "west",     "left",    "high"};

void append_ids(std::string& text, const std::vector<Piece>& pieces, const PromptStyle& style,
                uint64_t seed) {
  text += '[';
  const auto last = static_cast<int64_t>(style.alphabet.size()) - 1;
  for (const Piece& piece : pieces) {
    Draws draws(seed, DrawPurpose::words, piece.key);
    for (int64_t i = 0; i < piece.tokens; ++i) {
      if (text.back() != '[') text += ',';
      text += std::to_string(style.alphabet[static_cast<size_t>(draws.between(0, last))]);
    }
  }
  text += ']';
}

// As a JSON string; the words need no escapes.
void append_words(std::string& text, const std::vector<Piece>& pieces, const PromptStyle& style,
                  uint64_t seed) {
  text += '"';
  for (const Piece& piece : pieces) {
    Draws draws(seed, DrawPurpose::words, piece.key);
    const auto count = std::max<int64_t>(
        1, std::llround(static_cast<double>(piece.tokens) / style.tokens_per_word));
    for (int64_t i = 0; i < count; ++i) {
      if (text.back() != '"') text += ' ';
      text += words[static_cast<size_t>(draws.between(0, std::ssize(words) - 1))];
    }
  }
  text += '"';
}

std::string as_chat(const std::string& text_json) {
  return fmt::format(R"("messages":[{{"role":"user","content":{}}}])", text_json);
}

std::string given_member(const GivenPrompt& prompt, bool chat) {
  if (prompt.is_chat) {
    if (chat) return "\"messages\":" + prompt.json;
    throw_bad_input("the prompts' file holds conversations", "send them with --endpoint chat");
  }
  if (!chat) return "\"prompt\":" + prompt.json;
  if (prompt.is_text) return as_chat(prompt.json);
  throw_bad_input("the prompts' file holds token ids", "send them with --endpoint completions");
}

}  // namespace

std::string prompt_member(const Prompt& prompt, const PromptStyle& style, uint64_t seed) {
  if (const auto* given = std::get_if<GivenPrompt>(&prompt))
    return given_member(*given, style.chat);
  const auto& pieces = std::get<std::vector<Piece>>(prompt);
  std::string text;
  if (!style.chat && !style.alphabet.empty()) {
    append_ids(text, pieces, style, seed);
  } else {
    append_words(text, pieces, style, seed);
  }
  return style.chat ? as_chat(text) : "\"prompt\":" + text;
}

std::string word_sample() {
  std::string text;
  for (const char* word : words) {
    if (!text.empty()) text += ' ';
    text += word;
  }
  return text;
}

int64_t word_sample_size() {
  return std::ssize(words);
}

}  // namespace dure::load
