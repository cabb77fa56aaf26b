// How long masks take over a real vocabulary: mask_speed FOLDER with a tokenizer.json. Prints,
// for a handful of grammars, the times to compile, of the first walk through a document and of the
// second.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <functional>

#include "base/error.h"
#include "grammar/grammar.h"
#include "grammar/limits.h"
#include "grammar/matcher.h"
#include "text/token_bytes.h"

namespace {

using namespace dure;
using namespace dure::grammar;
// This thread's own time: the machine may be busy with other things.
double milliseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

double milliseconds_since(double begin) {
  return milliseconds() - begin;
}

// The longest token that is allowed and continues the text, as a tokenizer would about choose.
uint32_t longest_next(const std::vector<uint64_t>& mask, const TokenTrie& trie,
                      std::string_view rest) {
  const auto& nodes = trie.nodes();
  uint32_t best = UINT32_MAX, at = 0;
  for (const char c : rest) {
    uint32_t child = at + 1;
    while (child < nodes[at].end && nodes[child].byte != static_cast<uint8_t>(c)) {
      child = nodes[child].end;
    }
    if (child >= nodes[at].end) break;
    at = child;
    if (nodes[at].first_token == nodes[at + 1].first_token) continue;
    const uint32_t token = trie.tokens()[nodes[at].first_token];
    if (mask[token / 64] >> token % 64 & 1) best = token;
  }
  return best;
}

struct Case {
  std::string name;
  std::function<std::shared_ptr<const Grammar>()> compile;
  std::string document;
};

void run(const Case& one, const std::shared_ptr<const TokenTrie>& trie) {
  const auto begin = milliseconds();
  const auto grammar = one.compile();
  const double compile = milliseconds_since(begin);
  const auto constraint = std::make_shared<Constraint>(grammar, trie);
  fmt::print("{:<28} compile {:7.2f} ms", one.name, compile);
  size_t most_bytes = 0;
  for (const char* const pass : {"first", "again"}) {
    Matcher matcher(constraint);
    std::vector<uint64_t> mask(trie->mask_words());
    std::vector<double> times;
    uint64_t most_work = 0;
    std::string_view rest = one.document;
    while (!rest.empty()) {
      const auto start = milliseconds();
      uint64_t left = max_mask_work;
      matcher.fill_mask(mask, left);
      times.push_back(milliseconds_since(start));
      most_work = std::max(most_work, max_mask_work - left);
      const uint32_t token = longest_next(mask, *trie, rest);
      if (token == UINT32_MAX || !matcher.accept(token)) {
        fmt::print("  stuck before: {:.40}\n", rest);
        return;
      }
      rest.remove_prefix(trie->bytes(token).size());
      most_bytes = std::max(most_bytes, matcher.bytes());
    }
    std::ranges::sort(times);
    double sum = 0;
    for (const double time : times) sum += time;
    fmt::print("   {}: {:4} masks, mean {:6.3f}, median {:6.3f}, most {:7.3f} ms, {:7} units", pass,
               times.size(), sum / static_cast<double>(times.size()), times[times.size() / 2],
               times.back(), most_work);
  }
  fmt::print("   {} B\n", most_bytes);
}

std::vector<Case> cases() {
  const std::string person =
      R"({"type":"object","properties":{"name":{"type":"string","maxLength":80},
    "age":{"type":"integer","minimum":0,"maximum":150},"email":{"type":"string","format":"email"},
    "tags":{"type":"array","items":{"type":"string"},"maxItems":20},
    "city":{"enum":["서울","도쿄","Berlin"]},"score":{"type":"number","minimum":0,"maximum":1},
    "friends":{"type":"array","items":{"$ref":"#"}}},"required":["name","age"]})";
  const std::string document =
      R"({"name": "Ada Lovelace, who wrote the first program", "age": 36, "email": "ada.lovelace@example.org", "tags": ["mathematics", "poetry \"and\" science", "수학"], "city": "서울", "score": 0.975, "friends": [{"name": "Charles Babbage", "age": 79}, {"name": "Mary Somerville", "age": 91, "friends": [{"name": "x", "age": 1}]}]})";
  std::string ambiguous = "a";
  for (int i = 0; i < 200; ++i) ambiguous += "+a";
  return {
      {"json_object", [] { return compile_json_object(); }, document},
      {"json_schema person", [=] { return compile_json_schema(person); }, document},
      {"regex [ab]*a[ab]{13}", [] { return compile_regex("[ab]*a[ab]{13}"); },
       "abababbabbabababababbababababbabbbababbababababababaabbabbabbba"},
      {"regex .{0,5000}", [] { return compile_regex(".{0,5000}"); }, document},
      {"regex (.|..){0,5000}", [] { return compile_regex("(.|..){0,5000}"); }, document},
      {"regex (a{0,1000}){0,1000}", [] { return compile_regex("(a{0,1000}){0,1000}"); },
       std::string(300, 'a')},
      {"regex contains", [] { return compile_regex(".*(cat|dog|bird|fish).*(one|two|three).*"); },
       "I saw a cat and then another one, and " + document},
      {"ebnf ambiguous sum",
       [] { return compile_ebnf("root ::= sum\nsum ::= sum \"+\" sum | \"a\""); }, ambiguous},
  };
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: mask_speed FOLDER\n");
    return 2;
  }
  try {
    const std::vector<std::string> tokens = token_bytes(*Tokenizer::load(argv[1]));
    const auto begin = milliseconds();
    const auto trie = std::make_shared<TokenTrie>(tokens);
    fmt::print("{} tokens, {} nodes, longest {} bytes, built in {:.0f} ms\n",
               trie->vocabulary_size(), trie->nodes().size(), trie->longest_token(),
               milliseconds_since(begin));
    for (const Case& one : cases()) run(one, trie);
  } catch (const Error& error) {
    fmt::print(stderr, "error: {}\n", error.message());
    return 2;
  }
}
