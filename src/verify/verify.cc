// See verify.h.
#include "verify/verify.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "group/group.h"
#include "group/own_pages.h"
#include "model/load_spec.h"

namespace dure {
namespace {

constexpr int page_tokens = 16;

// Sequences are dealt over the dp groups in turn, each with pages of its own.
class Sequences {
 public:
  Sequences(const Layout& layout, OwnPages pages) : layout_(layout), pages_(std::move(pages)) {}

  // `length`: tokens of the sequence so far.
  Slice slice(int index, int64_t start, int64_t length, std::vector<int32_t> tokens,
              Want want) const {
    Slice slice;
    slice.sequence = static_cast<uint64_t>(index);
    slice.dp = index % layout_.dp;
    slice.start = static_cast<int32_t>(start);
    slice.length = static_cast<int32_t>(length);
    slice.tables =
        pages_.tables(index / layout_.dp, start, start + static_cast<int64_t>(tokens.size()));
    slice.state = index / layout_.dp;
    slice.tokens = std::move(tokens);
    slice.want = want;
    return slice;
  }

 private:
  Layout layout_;
  OwnPages pages_;
};

struct Longest {
  int64_t prompt = 1;
  int64_t sequence = 1;  // prompt and greedy steps
};

Longest longest_of(const Expected& expected) {
  Longest longest;
  for (const ExpectedPrompt& prompt : expected.prompts) {
    longest.prompt = std::max(longest.prompt, prompt.tokens());
    longest.sequence =
        std::max(longest.sequence, prompt.tokens() + static_cast<int64_t>(prompt.greedy.size()));
  }
  return longest;
}

class Runner {
 public:
  Runner(const VerifyOptions& options, const ModelSpec& spec, const Expected& expected,
         BlockingGroup& group)
      : options_(options),
        expected_(expected),
        group_(group),
        sequences_(options.group.start.layout,
                   OwnPages(spec, longest_of(expected).sequence, page_tokens)),
        longest_prompt_(longest_of(expected).prompt),
        recompute_beyond_(recompute_beyond(spec)) {}

  // The prompt `which` as sequence 0 of every step, the following prompts as its neighbours. All of
  // sequence 0's positions are traced; chunks are put together.
  TracedSlice prefill(size_t which) {
    TracedSlice whole;
    const int64_t tokens = expected_.prompts[which].tokens();
    const int64_t chunk = options_.chunk > 0 ? options_.chunk : tokens;
    for (int64_t start = 0; start < tokens; start += chunk) {
      Step step = next_step();
      step.slices.push_back(piece(which, 0, start, chunk, Want::all_logits));
      for (int other = 1; other < options_.batch; ++other) {
        const size_t neighbour = (which + static_cast<size_t>(other)) % expected_.prompts.size();
        const int64_t length = expected_.prompts[neighbour].tokens();
        // A neighbour shorter than the prompt starts over: any content will do.
        const int64_t from = start < length ? start : 0;
        step.slices.push_back(piece(neighbour, other, from, chunk, Want::token));
      }
      // Other slices first in every second step: the place in the batch must not matter either.
      if (start / chunk % 2 == 1) std::reverse(step.slices.begin(), step.slices.end());
      StepDone done = group_.run(std::move(step));
      for (SliceResult& result : done.slices) {
        if (result.sequence != 0) continue;
        append(std::move(result.trace.value()), &whole);
        next_token_ = result.token;
      }
    }
    return whole;
  }

  std::vector<int32_t> greedy(size_t which) {
    const ExpectedPrompt& prompt = expected_.prompts[which];
    std::vector<int32_t> tokens = prompt.input_ids;
    const size_t end = tokens.size() + prompt.greedy.size();
    while (tokens.size() < end && next_token_ >= 0) {  // < 0: logits are NaN
      tokens.push_back(next_token_);
      if (tokens.size() == end) break;
      const auto length = static_cast<int64_t>(tokens.size());
      feed(tokens, length == recompute_beyond_ + 1 ? 0 : length - 1);
    }
    return {tokens.begin() + prompt.tokens(), tokens.end()};
  }

 private:
  // Sequence 0's tokens from `start` on, as many a step as the group's buffers hold.
  void feed(const std::vector<int32_t>& tokens, int64_t start) {
    const auto length = static_cast<int64_t>(tokens.size());
    const int64_t at_once = options_.chunk > 0 ? options_.chunk : longest_prompt_;
    for (; start < length; start += at_once) {
      const int64_t end = std::min(start + at_once, length);
      Step step = next_step();
      step.slices.push_back(sequences_.slice(
          0, start, length, {tokens.begin() + start, tokens.begin() + end}, Want::token));
      next_token_ = group_.run(std::move(step)).slices.at(0).token;
    }
  }

  Step next_step() {
    Step step;
    step.id = next_id_++;
    return step;
  }

  Slice piece(size_t prompt, int sequence, int64_t start, int64_t chunk, Want want) const {
    const std::vector<int32_t>& ids = expected_.prompts[prompt].input_ids;
    const int64_t end = std::min<int64_t>(start + chunk, static_cast<int64_t>(ids.size()));
    return sequences_.slice(sequence, start, static_cast<int64_t>(ids.size()),
                            {ids.begin() + start, ids.begin() + end}, want);
  }

  // Routes are [layers, tokens, k]: chunks interleave layer by layer.
  static void append(TracedSlice part, TracedSlice* whole) {
    if (whole->logits.empty()) {
      *whole = std::move(part);
      return;
    }
    const auto layers = static_cast<size_t>(whole->moe_layers);
    const auto splice = [layers](auto& to, const auto& from) {
      if (layers == 0) return;
      auto merged = to;
      merged.clear();
      const size_t a = to.size() / layers;
      const size_t b = from.size() / layers;
      for (size_t layer = 0; layer < layers; ++layer) {
        merged.insert(merged.end(), to.begin() + static_cast<int64_t>(layer * a),
                      to.begin() + static_cast<int64_t>((layer + 1) * a));
        merged.insert(merged.end(), from.begin() + static_cast<int64_t>(layer * b),
                      from.begin() + static_cast<int64_t>((layer + 1) * b));
      }
      to = std::move(merged);
    };
    whole->logits.insert(whole->logits.end(), part.logits.begin(), part.logits.end());
    splice(whole->expert_ids, part.expert_ids);
    splice(whole->expert_weights, part.expert_weights);
  }

  const VerifyOptions& options_;
  const Expected& expected_;
  BlockingGroup& group_;
  Sequences sequences_;
  int64_t longest_prompt_;
  int64_t recompute_beyond_;
  uint64_t next_id_ = 1;
  int32_t next_token_ = -1;
};

// Of this model: its tokens can be fed to it, and its logits compared.
void check_is_of(const ModelSpec& spec, const Expected& expected, const std::string& file) {
  const auto refuse = [&](const std::string& why) {
    throw_bad_input(fmt::format("{}: {}", file, why), "the record is of another model");
  };
  for (const ExpectedPrompt& prompt : expected.prompts) {
    for (const auto& [name, ids] :
         {std::pair{"input_ids", &prompt.input_ids}, {"greedy", &prompt.greedy}}) {
      for (const int32_t id : *ids) {
        if (id >= 0 && id < spec.vocab) continue;
        refuse(fmt::format("{}.{} holds {}, but the model's vocabulary is {} tokens", prompt.name,
                           name, id, spec.vocab));
      }
    }
    const int64_t width = static_cast<int64_t>(prompt.logits.size()) / prompt.tokens();
    if (width == spec.vocab) continue;
    refuse(fmt::format("{}.logits are of {} tokens, but the model's vocabulary is {}", prompt.name,
                       width, spec.vocab));
  }
}

GroupOptions sized_group(const VerifyOptions& options, const ModelSpec& spec,
                         const Expected& expected) {
  const Longest longest = longest_of(expected);
  GroupOptions group = options.group;
  StartGroup& start = group.start;
  start.page_tokens = page_tokens;
  const int sequences_each = (options.batch + start.layout.dp - 1) / start.layout.dp;
  const OwnPages pages(spec, longest.sequence, page_tokens);
  start.pages = static_cast<int32_t>(sequences_each * pages.of_a_sequence());
  start.states = sequences_each;
  start.context = static_cast<int32_t>(longest.sequence);
  const int64_t rows = options.chunk > 0 ? options.chunk : longest.prompt;
  start.max_batch_tokens = static_cast<int32_t>(sequences_each * rows);
  return group;
}

// What a group answered to all prompts.
struct Answers {
  std::vector<TracedSlice> traces;
  std::vector<std::vector<int32_t>> greedy;
  GroupReady group;
  GroupStats stats;
};

Answers ask(const VerifyOptions& options, const ModelSpec& spec, const Expected& expected,
            const std::function<void(const LoadProgress&)>& on_progress) {
  BlockingGroup group(sized_group(options, spec, expected), on_progress);
  Runner runner(options, spec, expected, group);
  Answers answers;
  answers.group = group.ready();
  for (size_t i = 0; i < expected.prompts.size(); ++i) {
    answers.traces.push_back(runner.prefill(i));
    answers.greedy.push_back(runner.greedy(i));
  }
  answers.stats = group.stats();
  return answers;
}

bool has_margins(const Expected& expected) {
  const auto finite = [](float margin) { return std::isfinite(margin); };
  return std::any_of(
      expected.prompts.begin(), expected.prompts.end(), [&](const ExpectedPrompt& prompt) {
        return std::any_of(prompt.router_margin.begin(), prompt.router_margin.end(), finite);
      });
}

void judge(const Expected& expected, const Answers& answers, VerifyResult* result) {
  result->prompts.clear();
  result->max_abs_logit_error = 0.0;
  result->passed = true;
  for (size_t i = 0; i < expected.prompts.size(); ++i) {
    PromptCheck check =
        compare_prefill(expected.prompts[i], expected.top_k, answers.traces[i], result->tolerance);
    compare_greedy(expected.prompts[i], answers.greedy[i], result->tolerance, &check);
    result->max_abs_logit_error = std::max(result->max_abs_logit_error, check.max_abs_logit_error);
    result->passed = result->passed && check.passed;
    result->prompts.push_back(std::move(check));
  }
}

std::string hash_of(const Answers& answers) {
  XXH3_state_t* hash = XXH3_createState();
  XXH3_64bits_reset(hash);
  for (const TracedSlice& trace : answers.traces) {
    XXH3_64bits_update(hash, trace.logits.data(), trace.logits.size() * sizeof(float));
  }
  const std::string text = fmt::format("{:016x}", XXH3_64bits_digest(hash));
  XXH3_freeState(hash);
  return text;
}

}  // namespace

VerifyResult verify(const VerifyOptions& options,
                    const std::function<void(const LoadProgress&)>& on_progress) {
  const StartGroup& start = options.group.start;
  const ModelSpec spec = load_spec(start.model);
  std::filesystem::path file = options.expected;
  if (file.empty()) {
    const std::filesystem::path model = start.model;
    const bool is_file = model.extension() == ".gguf";
    file = (is_file ? model.parent_path() : model) / "expected.safetensors";
  }
  const Expected expected = read_expected(file);
  check_is_of(spec, expected, file.string());
  double rms = 0.0;
  for (const ExpectedPrompt& prompt : expected.prompts) rms = std::max(rms, rms_of(prompt.logits));

  const Answers answers = ask(options, spec, expected, on_progress);
  VerifyResult result;
  result.group = answers.group;
  result.stats = answers.stats;
  result.logits_hash = hash_of(answers);
  result.tolerance = quantized(tolerance_for(start.compute, start.kv_dtype, spec, rms),
                               start.quantize, start.compute, spec, rms);
  if (options.tolerance > 0.0) result.tolerance.logit = options.tolerance;
  judge(expected, answers, &result);
  const bool exact_already = start.compute == Compute::fp32 && start.kv_dtype == DType::f32 &&
                             start.quantize == CodeFormat::none;
  if (result.passed || exact_already || options.tolerance > 0.0) return result;

  // Is it bf16's, the codes' or the cache's arithmetic, or a model that amplifies what is rounded?
  // (compare.cc)
  VerifyOptions exact = options;
  exact.group.start.compute = Compute::fp32;
  exact.group.start.kv_dtype = DType::f32;
  exact.group.start.quantize = CodeFormat::none;
  VerifyResult in_fp32;
  in_fp32.tolerance = tolerance_for(Compute::fp32, DType::f32, spec, rms);
  judge(expected, ask(exact, spec, expected, on_progress), &in_fp32);
  if (!in_fp32.passed) return result;
  result.amplification = amplification_of(spec, rms, in_fp32.max_abs_logit_error);
  result.tolerance = times(result.tolerance, result.amplification);
  // The fp32 run has taken every recorded route: the router is right. Where the record has no
  // margins, that is all that is known of how close its choices were.
  if (!has_margins(expected)) result.tolerance.router = INFINITY;
  judge(expected, answers, &result);
  return result;
}

}  // namespace dure
