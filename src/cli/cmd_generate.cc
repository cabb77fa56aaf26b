// dure generate MODEL: one prompt through a group started for it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file_entry.h"
#include "base/json.h"
#include "cli/command.h"
#include "cli/number_range.h"
#include "cli/run_flags.h"
#include "cli/terminal.h"
#include "group/own_pages.h"
#include "model/load_spec.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace dure {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int prefill_tokens = 512;  // of one step

struct Options {
  RunFlags run;
  std::string prompt;
  std::vector<int32_t> prompt_ids;
  std::string chat;
  int max_tokens = 256;
  float temperature = 0.0f;
  float top_p = 1.0f;
  int top_k = 0;
  float min_p = 0.0f;
  uint64_t seed = 0;
  bool json = false;
};

struct Generated {
  std::vector<int32_t> prompt;
  std::vector<int32_t> ids;
  std::string text;
  std::string finish_reason = "length";
  double load_s = 0.0;
  double first_token_s = 0.0;
  double decode_s = 0.0;
};

std::vector<int32_t> prompt_of(const Options& options, const ModelSpec& spec,
                               const Tokenizer* tokenizer) {
  std::vector<int32_t> ids = options.prompt_ids;
  if (!options.prompt.empty()) {
    ids = tokenizer->encode(options.prompt, {.add_special = true});
  } else if (!options.chat.empty()) {
    const Json messages = Json::array({{{"role", "user"}, {"content", options.chat}}});
    ChatRequest request;
    request.messages = &messages;
    request.add_generation_prompt = true;
    ids = tokenizer->encode(ChatTemplate::load(options.run.model)->render(request));
  }
  if (ids.empty()) throw_bad_input("the prompt has no tokens");
  for (const int32_t id : ids) {
    if (id < 0 || id >= spec.vocab) {
      throw_bad_input(
          fmt::format("--prompt-ids: {} is not in the vocabulary of {}", id, spec.vocab));
    }
  }
  if (static_cast<int64_t>(ids.size()) >= spec.context) {
    throw_bad_input(fmt::format("the prompt has {} tokens, the model's context is {}", ids.size(),
                                spec.context),
                    "shorten the prompt");
  }
  return ids;
}

[[noreturn]] void throw_not_numbers() {
  throw Error(ErrorCode::failed, "the model's logits are not numbers",
              "the weights may be damaged, or overflow: `dure verify` compares them with a record");
}

class Generation {
 public:
  Generation(const Options& options, const ModelSpec& spec,
             std::shared_ptr<const Tokenizer> tokenizer, BlockingGroup& group,
             const StartGroup& start)
      : options_(options),
        spec_(spec),
        group_(group),
        pages_(spec, start.context, start.page_tokens),
        step_tokens_(static_cast<size_t>(start.max_batch_tokens)) {
    if (tokenizer) decoder_.emplace(std::move(tokenizer), true);
  }

  void run(Generated* result, size_t budget) {
    const auto start = Clock::now();
    tokens_ = result->prompt;
    prompt_tokens_ = static_cast<int32_t>(tokens_.size());
    int32_t token = feed(0);
    const auto first = Clock::now();
    while (true) {
      if (token < 0) throw_not_numbers();
      result->ids.push_back(token);
      tokens_.push_back(token);
      const auto& eos = spec_.eos_ids;
      if (std::find(eos.begin(), eos.end(), token) != eos.end()) {
        result->finish_reason = "stop";
        break;
      }
      if (decoder_) say(decoder_->push(token), &result->text);
      if (result->ids.size() >= budget) break;
      const auto length = static_cast<int64_t>(tokens_.size());
      token = feed(length == recompute_beyond(spec_) + 1 ? 0 : tokens_.size() - 1);
    }
    if (decoder_) say(decoder_->finish(), &result->text);
    result->first_token_s = std::chrono::duration<double>(first - start).count();
    result->decode_s = std::chrono::duration<double>(Clock::now() - first).count();
  }

 private:
  // The tokens from `start` on, as many a step as the group's buffers hold. Returns the next one.
  int32_t feed(size_t start) {
    int32_t token = -1;
    for (; start < tokens_.size(); start += step_tokens_) {
      const size_t end = std::min(tokens_.size(), start + step_tokens_);
      Step step;
      step.id = next_id_++;
      Slice slice;
      slice.start = static_cast<int32_t>(start);
      slice.length = static_cast<int32_t>(tokens_.size());
      slice.tables = pages_.tables(0, slice.start, static_cast<int64_t>(end));
      slice.tokens.assign(tokens_.begin() + static_cast<int64_t>(start),
                          tokens_.begin() + static_cast<int64_t>(end));
      slice.want = end == tokens_.size() ? Want::token : Want::nothing;
      if (start == 0) slice.setup = setup();
      step.slices.push_back(std::move(slice));
      token = group_.run(std::move(step)).slices.at(0).token;
    }
    return token;
  }

  SequenceSetup setup() const {
    SequenceSetup setup;
    setup.sampling.temperature = options_.temperature;
    setup.sampling.top_p = options_.top_p;
    setup.sampling.min_p = options_.min_p;
    setup.sampling.top_k = options_.top_k;
    setup.sampling.seed = options_.seed;
    setup.prompt_tokens = prompt_tokens_;
    return setup;
  }

  void say(const std::string& text, std::string* whole) const {
    *whole += text;
    if (options_.json) return;
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  }

  const Options& options_;
  const ModelSpec& spec_;
  BlockingGroup& group_;
  OwnPages pages_;
  size_t step_tokens_;
  std::vector<int32_t> tokens_;  // prompt and what came after
  int32_t prompt_tokens_ = 0;
  std::optional<StreamDecoder> decoder_;
  uint64_t next_id_ = 1;
};

int run(const Options& options) {
  const int given = (options.prompt.empty() ? 0 : 1) + (options.prompt_ids.empty() ? 0 : 1) +
                    (options.chat.empty() ? 0 : 1);
  if (given != 1) {
    throw_bad_input("one of --prompt, --prompt-ids and --chat says what to go on from",
                    "for example --chat \"How many 80 GB GPUs hold 1T parameters in BF16?\"");
  }
  check_run_flags(options.run);
  const ModelSpec spec = load_spec(options.run.model);
  std::shared_ptr<const Tokenizer> tokenizer;
  if (options.prompt_ids.empty() || Tokenizer::is_in(options.run.model)) {
    tokenizer = Tokenizer::load(options.run.model);
  }
  Generated result;
  result.prompt = prompt_of(options, spec, tokenizer.get());
  const auto budget = static_cast<size_t>(std::min<int64_t>(
      options.max_tokens, spec.context - static_cast<int64_t>(result.prompt.size())));

  GroupOptions group_options = options.run.group_options();
  StartGroup& start = group_options.start;
  const auto positions = static_cast<int32_t>(result.prompt.size() + budget);
  start.pages = static_cast<int32_t>(OwnPages(spec, positions, start.page_tokens).of_a_sequence());
  start.states = 1;
  start.context = positions;
  start.max_batch_tokens =
      std::min<int32_t>(prefill_tokens, static_cast<int32_t>(result.prompt.size()));
  const auto before = Clock::now();
  const std::unique_ptr<BlockingGroup> group = start_ranks(group_options);
  result.load_s = std::chrono::duration<double>(Clock::now() - before).count();
  Generation(options, spec, tokenizer, *group, start).run(&result, budget);

  const double rate =
      result.ids.size() > 1 ? static_cast<double>(result.ids.size() - 1) / result.decode_s : 0.0;
  if (options.json) {
    const Json json = {{"ids", result.ids},
                       {"text", result.text},
                       {"finish_reason", result.finish_reason},
                       {"prompt_ids", result.prompt},
                       {"load_s", result.load_s},
                       {"ttft_s", result.first_token_s},
                       {"decode_tokens_per_s", rate}};
    fmt::print("{}\n", json.dump(2));
  } else {
    if (!tokenizer) fmt::print("{}", fmt::join(result.ids, ","));
    fmt::print("\n");
    dure::say(stderr,
              fmt::format("{} tokens, first after {:.3f} s, then {:.0f} tokens/s ({})\n",
                          result.ids.size(), result.first_token_s, rate, result.finish_reason));
  }
  return 0;
}

RunCommand declare(CLI::App& app) {
  auto options = std::make_shared<Options>();
  add_run_flags(app, options->run);
  app.add_option("--prompt", options->prompt, "text to go on from");
  app.add_option("--prompt-ids", options->prompt_ids, "token ids to go on from: 1,2,3")
      ->delimiter(',');
  app.add_option("--chat", options->chat, "a user's message, rendered by the chat template");
  app.add_option("--max-tokens", options->max_tokens)->check(CLI::Range(1, 1 << 24));
  app.add_option("--temperature", options->temperature, "0: greedy")
      ->check(number_between(0.0, 100.0));
  app.add_option("--top-p", options->top_p)->check(number_between(1e-6, 1.0));
  app.add_option("--top-k", options->top_k, "0: all")->check(CLI::Range(0, 1 << 30));
  app.add_option("--min-p", options->min_p)->check(number_between(0.0, 1.0));
  app.add_option("--seed", options->seed);
  app.add_flag("--json", options->json);
  app.footer("Example: dure generate models/demo-moe --tp 2 --chat \"What is a KV cache?\"");
  return [options] { return run(*options); };
}

const RegisterCommand registered({"generate", "answer one prompt", declare});

}  // namespace
}  // namespace dure
