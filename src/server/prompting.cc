// See prompting.h.
#include "server/prompting.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/units.h"

namespace dure {
namespace {

[[noreturn]] void too_long(const std::string& what, const std::string& hint,
                           const std::string& field) {
  throw RequestError(400, "context_length_exceeded", what, hint, field);
}

void check_ids(const std::vector<int32_t>& prompt, const std::string& field,
               const ServedModel& model) {
  if (prompt.empty()) throw_bad_input(field + " has no tokens", "", field);
  for (const int32_t id : prompt) {
    if (id < 0 || id >= model.vocab) {
      throw_bad_input(fmt::format("{} becomes token {}, which the model's vocabulary of {} lacks",
                                  field, id, model.vocab),
                      "", field);
    }
  }
}

// How many tokens may be produced: what was asked for, or what there is room for.
int32_t tokens_to_produce(const GenerationFields& fields, int64_t prompt_tokens,
                          const std::string& field, const ServedModel& model) {
  // One position at least must be left for the answer.
  const int64_t context = std::min<int64_t>(model.context, model.longest_sequence);
  const bool by_cache = model.longest_sequence < model.context;
  const std::string limit =
      by_cache ? fmt::format("the KV cache holds {} tokens of one request", context)
               : fmt::format("the context is {} tokens", context);
  const std::string hint = by_cache ? "start the server with more --kv-memory" : "";
  if (prompt_tokens >= context) {
    too_long(fmt::format("{} has {} tokens, but {}", field, prompt_tokens, limit), hint, field);
  }
  const int64_t room = context - prompt_tokens;
  if (fields.max_tokens && *fields.max_tokens > room) {
    too_long(
        fmt::format("{} has {} tokens and max_tokens asks for {} more, {} in all, but {}", field,
                    prompt_tokens, *fields.max_tokens, prompt_tokens + *fields.max_tokens, limit),
        hint, "max_tokens");
  }
  // A length that nobody asked for is cut to what there is room for.
  const int32_t most = fields.max_tokens.value_or(
      static_cast<int32_t>(std::min<int64_t>(room, fields.default_max_tokens)));
  if (fields.sampling.min_tokens > most) {
    throw_bad_input(fmt::format("min_tokens is {}, but no more than {} tokens may be produced",
                                fields.sampling.min_tokens, most),
                    "", "min_tokens");
  }
  return most;
}

// The tokens of each word at the beginning of a text and behind a space, as vLLM: the second only
// where the space became part of a token that differs.
std::vector<std::vector<int32_t>> bad_word_tokens(const std::vector<std::string>& words,
                                                  const ServedModel& model) {
  std::vector<std::vector<int32_t>> all;
  for (const std::string& word : words) {
    const size_t begin = std::min(word.find_first_not_of(" \t\r\n\f\v"), word.size());
    const std::string bare = word.substr(begin);
    const std::vector<int32_t> alone = model.tokenizer->encode(bare);
    const std::vector<int32_t> behind_space = model.tokenizer->encode(" " + bare);
    if (bare.empty() || alone.empty()) {
      throw_bad_input("bad_words must not hold a text of nothing but spaces", "", "bad_words");
    }
    check_ids(alone, "bad_words", model);
    all.push_back(alone);
    if (behind_space.size() == alone.size() && behind_space.front() != alone.front()) {
      check_ids(behind_space, "bad_words", model);
      all.push_back(behind_space);
    }
  }
  return all;
}

// Of choice i: the request's own for the first, so that n does not change it (SplitMix64, Steele et
// al., OOPSLA 2014).
uint64_t seed_of_choice(uint64_t seed, int32_t choice) {
  if (choice == 0) return seed;
  uint64_t z = seed + static_cast<uint64_t>(choice) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

}  // namespace

std::string render(const Conversation& conversation, const ServedModel& model) {
  if (!model.chat_template) {
    throw_bad_input("this model has no chat template", "use /v1/completions", "messages");
  }
  ChatRequest request;
  request.messages = conversation.messages.get();
  request.tools = conversation.tools.get();
  request.add_generation_prompt = conversation.add_generation_prompt;
  request.continue_final_message = conversation.continue_final_message;
  request.extra = conversation.template_arguments.get();
  try {
    return model.chat_template->render(request);
  } catch (const Error& error) {
    throw Error(error.code(), error.message(), error.hint(),
                error.field().empty() ? "messages" : error.field());
  }
}

std::vector<int32_t> encode(const Conversation& conversation, const ServedModel& model) {
  return encode_rendered(render(conversation, model), conversation, model);
}

std::vector<int32_t> encode_rendered(const std::string& text, const Conversation& conversation,
                                     const ServedModel& model) {
  return model.tokenizer->encode(text, {.add_special = conversation.add_special});
}

std::vector<int32_t> encode(const Prompt& prompt, bool add_special, const ServedModel& model) {
  if (const auto* ids = std::get_if<std::vector<int32_t>>(&prompt)) return *ids;
  return model.tokenizer->encode(std::get<std::string>(prompt), {.add_special = add_special});
}

void check_lists(const GenerationFields& fields, size_t prompts) {
  constexpr int64_t most = int64_t{64} << 20;
  int64_t each = bytes_of_lists(fields.sampling) +
                 static_cast<int64_t>(fields.stop_ids.size() * sizeof(int32_t));
  // As many tokens as bytes, at most.
  for (const std::string& word : fields.bad_words)
    each += static_cast<int64_t>(word.size() * sizeof(int32_t));
  const int64_t sequences = static_cast<int64_t>(prompts) * fields.choices;
  if (each <= most / std::max<int64_t>(sequences, 1)) return;
  throw_bad_input(
      fmt::format("logit_bias, allowed_token_ids, stop_token_ids and bad_words may take {} of each "
                  "of {} sequences; {} of all are the most",
                  format_bytes(each), sequences, format_bytes(most)),
      "shorten the lists, or ask for fewer choices", "n");
}

std::vector<Generation> make_generations(const GenerationFields& fields,
                                         const std::vector<int32_t>& prompt,
                                         const std::string& field, const ServedModel& model) {
  check_ids(prompt, field, model);
  const int32_t max_tokens =
      tokens_to_produce(fields, static_cast<int64_t>(prompt.size()), field, model);
  SamplingParams sampling = fields.sampling;
  sampling.bad_words = bad_word_tokens(fields.bad_words, model);
  if (sampling.min_tokens > 0) {
    sampling.stop_ids = fields.stop_ids;
    // A config may name ends that the model's vocabulary lacks.
    std::copy_if(fields.end_ids.begin(), fields.end_ids.end(),
                 std::back_inserter(sampling.stop_ids),
                 [&](int32_t id) { return id >= 0 && id < model.vocab; });
  }
  std::vector<Generation> made(static_cast<size_t>(fields.choices));
  for (int32_t choice = 0; choice < fields.choices; ++choice) {
    Generation& generation = made[static_cast<size_t>(choice)];
    generation.prompt = prompt;
    generation.max_tokens = max_tokens;
    generation.sampling = sampling;
    generation.sampling.seed = seed_of_choice(sampling.seed, choice);
    generation.stop_ids = fields.stop_ids;
    generation.end_ids = fields.end_ids;
    generation.stop_strings = fields.stop;
    generation.skip_special = fields.skip_special;
    generation.show_stop_string = fields.show_stop_string;
    generation.priority = fields.priority;
    generation.cache_salt = fields.cache_salt;
  }
  return made;
}

}  // namespace dure
