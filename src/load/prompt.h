// What a prompt is before it is written down: pieces of drawn tokens, some of which other prompts
// share, or the words of a file. And how it is written for a server: as token ids where it takes
// them, else as words.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace dure::load {

// Pieces with the same key and length hold the same tokens, in whichever prompt.
struct Piece {
  uint64_t key = 0;
  int64_t tokens = 0;
};

// A prompt or a conversation as somebody wrote it.
struct GivenPrompt {
  std::string json;      // a string, a list of token ids, or a list of messages
  bool is_chat = false;  // messages
  bool is_text = false;  // a string
  std::optional<int64_t> output;
};

using Prompt = std::variant<std::vector<Piece>, GivenPrompt>;

struct PromptStyle {
  bool chat = false;  // /v1/chat/completions
  // Ids that ordinary words are made of, to draw from. Empty: prompts are words instead.
  std::vector<int32_t> alphabet;
  double tokens_per_word = 1.0;  // of words
};

// A member of a request's JSON object: "prompt": … or "messages": …. Throws bad_input where a
// conversation would go to /v1/completions, or token ids to /v1/chat/completions.
std::string prompt_member(const Prompt& prompt, const PromptStyle& style, uint64_t seed);

// A sample of all words that prompts are made of, to ask a server how it sees them.
std::string word_sample();
int64_t word_sample_size();  // words

// Lines of JSON: "prompt" (a string or token ids) or "messages" (wins where both are there and
// `chat`), and perhaps "output" or "max_tokens". Throws bad_input naming `what` and the line.
std::vector<GivenPrompt> parse_prompts(std::string_view text, std::string_view what, bool chat);

std::vector<GivenPrompt> read_prompts(const std::filesystem::path& path, bool chat);

}  // namespace dure::load
