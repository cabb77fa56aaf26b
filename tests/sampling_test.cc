// Sampling through real ranks: what is drawn and told is the same in every layout, batch and cut of
// the prompt, and after a sequence came back to another slot; log-probabilities are those of the
// logits that `dure verify` traces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <random>
#include <vector>

#include "cluster/this_machine.h"
#include "group/group.h"
#include "model/load_spec.h"

namespace dure {
namespace {

using Tokens = std::vector<int32_t>;

constexpr int page_tokens = 16;
constexpr int pages_each = 8;
constexpr int slots = 4;

std::filesystem::path model() {
  return std::filesystem::path(DURE_SOURCE_DIR) / "testdata/models/qwen3-moe";
}

class Ranks {
 public:
  explicit Ranks(const Layout& layout) : layout_(layout), group_(options(layout)) {}

  const Layout& layout() const { return layout_; }
  StepDone run(std::vector<Slice> slices) {
    return group_.run(Step{next_id_++, std::move(slices)});
  }

  // Positions [start, end) of `tokens`, in a slot and with pages of its own.
  Slice slice(int slot, int dp, const Tokens& tokens, size_t start, size_t end, Want want) const {
    Slice slice;
    slice.sequence = 100 * static_cast<uint64_t>(dp) + static_cast<uint64_t>(slot);
    slice.dp = dp;
    slice.start = static_cast<int32_t>(start);
    slice.length = static_cast<int32_t>(tokens.size());
    slice.state = slot;
    slice.tokens.assign(tokens.begin() + static_cast<int64_t>(start),
                        tokens.begin() + static_cast<int64_t>(end));
    PageTable& table = slice.tables.emplace_back();
    for (int page = 0; page < pages_each; ++page) table.pages.push_back(slot * pages_each + page);
    slice.want = want;
    if (end < tokens.size()) slice.next_token = tokens[end];
    return slice;
  }

 private:
  static GroupOptions options(const Layout& layout) {
    GroupOptions options;
    StartGroup& start = options.start;
    start.model = model().string();
    start.layout = layout;
    start.page_tokens = page_tokens;
    start.pages = slots * pages_each;
    start.states = slots;
    start.context = page_tokens * pages_each;
    start.max_batch_tokens = 200;
    start.threads = default_threads(layout.world());
    return options;
  }

  Layout layout_;
  BlockingGroup group_;
  uint64_t next_id_ = 1;
};

Tokens random_tokens(int count, uint32_t seed) {
  const auto vocab = static_cast<uint32_t>(load_spec(model()).vocab);
  std::mt19937 bits(seed);
  Tokens tokens;
  for (int i = 0; i < count; ++i) tokens.push_back(static_cast<int32_t>(bits() % vocab));
  return tokens;
}

// Everything at once: what one parameter gets wrong, the others' draws show.
SamplingParams parameters() {
  SamplingParams params;
  params.temperature = 1.2f;
  params.top_p = 0.95f;
  params.min_p = 0.001f;
  params.top_k = 60;
  params.seed = 77;
  params.presence_penalty = 0.4f;
  params.frequency_penalty = 0.6f;
  params.repetition_penalty = 1.1f;
  params.logit_bias = {{5, 2.0f}, {6, -100.0f}};
  params.bad_words = {{7}, {5, 5}};
  params.min_tokens = 15;
  params.stop_ids = {5, 9};
  params.logprobs = 3;
  params.prompt_logprobs = 2;
  return params;
}

struct Told {
  Tokens tokens;
  std::vector<TokenLogprobs> logprobs;
  std::vector<TokenLogprobs> prompt;
};

bool same(const TokenLogprobs& a, const TokenLogprobs& b) {
  return a.token == b.token && a.logprob == b.logprob && a.rank == b.rank &&
         std::equal(a.top.begin(), a.top.end(), b.top.begin(), b.top.end(),
                    [](const TopLogprob& x, const TopLogprob& y) {
                      return x.token == y.token && x.logprob == y.logprob;
                    });
}

void expect_same(const Told& a, const Told& b) {
  EXPECT_EQ(a.tokens, b.tokens);
  const auto all_same = [](const std::vector<TokenLogprobs>& x,
                           const std::vector<TokenLogprobs>& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(), same);
  };
  EXPECT_TRUE(all_same(a.logprobs, b.logprobs));
  EXPECT_TRUE(all_same(a.prompt, b.prompt));
}

// How a sequence is computed.
struct Course {
  size_t chunk = 1000;
  int neighbours = 0;  // in the last slots of the same dp group
  int dp = 0;
  // After as many produced tokens it moves to another slot: computed anew from its first token, or
  // with its pages and a history.
  size_t recompute_after = 0;
  size_t resume_after = 0;
};

Told generate(Ranks& ranks, const Tokens& prompt, size_t produced, const Course& course) {
  Told told;
  Tokens tokens = prompt;
  int slot = 0;
  std::vector<PageTable> tables;  // where they are, if not in the slot's pages
  const auto run_from = [&](size_t start, size_t chunk, bool set_up) {
    for (size_t end = start; start < tokens.size(); start = end) {
      end = std::min(start + chunk, tokens.size());
      Slice slice = ranks.slice(slot, course.dp, tokens, start, end,
                                end == tokens.size() ? Want::token : Want::nothing);
      if (!tables.empty()) slice.tables = tables;
      if (set_up) {
        slice.setup =
            SequenceSetup{parameters(), static_cast<int32_t>(prompt.size()),
                          Tokens(tokens.begin(), tokens.begin() + static_cast<int64_t>(start))};
      }
      set_up = false;
      std::vector<Slice> slices = {slice};
      for (int i = 0; i < course.neighbours; ++i) {
        slices.push_back(ranks.slice(slots - 1 - i, course.dp, {3, 4, 5}, 0, 3, Want::token));
      }
      std::rotate(slices.begin(), slices.begin() + static_cast<int64_t>(start % slices.size()),
                  slices.end());
      for (const SliceResult& result : ranks.run(slices).slices) {
        if (result.sequence != slice.sequence) continue;
        told.prompt.insert(told.prompt.end(), result.prompt_logprobs.begin(),
                           result.prompt_logprobs.end());
        if (result.token >= 0) tokens.push_back(result.token);
        if (result.logprobs) told.logprobs.push_back(*result.logprobs);
        if (slice.want == Want::token) return;
      }
    }
  };
  run_from(0, course.chunk, true);
  while (tokens.size() < prompt.size() + produced) {
    const size_t so_far = tokens.size() - prompt.size();
    const size_t before = tokens.size();
    if (so_far == course.recompute_after) {
      slot = 1;
      tables.clear();
      const std::vector<TokenLogprobs> first_time = told.prompt;
      told.prompt.clear();
      run_from(0, course.chunk, true);
      EXPECT_TRUE(std::equal(first_time.begin(), first_time.end(), told.prompt.begin(),
                             told.prompt.end(), same));
    } else if (so_far == course.resume_after) {
      tables = ranks.slice(slot, course.dp, tokens, 0, 1, Want::token).tables;
      slot = 2;
      run_from(tokens.size() - 1, 1, true);
    } else {
      run_from(tokens.size() - 1, 1, false);
    }
    if (tokens.size() == before) break;  // nothing drawn: the comparison will say so
  }
  told.tokens = Tokens(tokens.begin() + static_cast<int64_t>(prompt.size()), tokens.end());
  return told;
}

TEST(Sampling, IsTheSameInEveryLayoutBatchAndChunkAndAfterComingBack) {
  const Tokens prompt = random_tokens(50, 3);
  constexpr size_t produced = 40;
  Ranks alone({});
  const Told expected = generate(alone, prompt, produced, {});
  ASSERT_EQ(expected.tokens.size(), produced);
  EXPECT_EQ(expected.logprobs.size(), produced);
  EXPECT_EQ(expected.prompt.size(), prompt.size() - 1);
  for (size_t i = 0; i < produced; ++i) {
    EXPECT_EQ(expected.logprobs[i].token, expected.tokens[i]);
    EXPECT_NE(expected.tokens[i], 7);
    if (i >= 15) continue;
    EXPECT_THAT(expected.tokens[i], testing::AllOf(testing::Ne(5), testing::Ne(9)));
  }
  for (size_t i = 1; i < prompt.size(); ++i) EXPECT_EQ(expected.prompt[i - 1].token, prompt[i]);

  const Course courses[] = {{.chunk = 1},
                            {.chunk = 13, .neighbours = 2},
                            {.recompute_after = 12},
                            {.chunk = 20, .neighbours = 1, .resume_after = 17},
                            {.chunk = 7, .recompute_after = 9, .resume_after = 21}};
  for (const Course& course : courses) {
    SCOPED_TRACE(testing::Message() << "chunk " << course.chunk);
    expect_same(generate(alone, prompt, produced, course), expected);
  }
  for (const Layout& layout : {Layout{.tp = 2}, Layout{.pp = 2}, Layout{.dp = 2, .ep = 2},
                               Layout{.tp = 2, .pp = 2, .ep = 2}}) {
    SCOPED_TRACE(to_string(layout));
    Ranks ranks(layout);
    expect_same(generate(ranks, prompt, produced,
                         {.chunk = 17, .neighbours = 1, .dp = layout.dp - 1, .recompute_after = 5}),
                expected);
  }
}

TEST(Sampling, LogprobsAreThoseOfTheTracedLogits) {
  Ranks ranks({.tp = 2});
  const Tokens prompt = random_tokens(20, 4);
  Slice slice = ranks.slice(0, 0, prompt, 0, prompt.size(), Want::all_logits);
  SamplingParams params;
  params.logprobs = 4;
  params.prompt_logprobs = 4;
  slice.setup = SequenceSetup{params, static_cast<int32_t>(prompt.size()), {}};
  const StepDone done = ranks.run({slice});
  const SliceResult& result = done.slices.at(0);
  ASSERT_TRUE(result.trace.has_value());
  ASSERT_TRUE(result.logprobs.has_value());
  std::vector<TokenLogprobs> told = result.prompt_logprobs;
  told.push_back(*result.logprobs);
  ASSERT_EQ(told.size(), prompt.size());
  const auto vocab = static_cast<size_t>(result.trace->vocab);
  for (size_t row = 0; row < told.size(); ++row) {
    const float* logits = result.trace->logits.data() + row * vocab;
    const double largest = *std::max_element(logits, logits + vocab);
    double sum = 0.0;
    for (size_t t = 0; t < vocab; ++t) sum += std::exp(logits[t] - largest);
    EXPECT_NEAR(told[row].logprob, logits[told[row].token] - largest - std::log(sum), 1e-5);
    ASSERT_EQ(told[row].top.size(), 4u);
    for (const TopLogprob& each : told[row].top) {
      EXPECT_NEAR(each.logprob, logits[each.token] - largest - std::log(sum), 1e-5);
    }
    EXPECT_EQ(logits[told[row].top[0].token], static_cast<float>(largest));
  }
  EXPECT_EQ(told.back().token, result.token);
  EXPECT_EQ(told.back().rank, 1);  // without a temperature
}

TEST(Sampling, AMaskRestrictsOneTokenAndAnEmptyOneLeavesNothing) {
  Ranks ranks({});
  const Tokens prompt = random_tokens(9, 5);
  const auto words = static_cast<size_t>((load_spec(model()).vocab + 63) / 64);
  Slice slice = ranks.slice(0, 0, prompt, 0, prompt.size(), Want::token);
  const int32_t free_choice = ranks.run({slice}).slices.at(0).token;
  slice.mask.assign(words, 0);
  EXPECT_EQ(ranks.run({slice}).slices.at(0).token, -2);
  const int32_t only = (free_choice + 70) % 200;
  slice.mask[static_cast<size_t>(only) / 64] = uint64_t{1} << (only % 64);
  EXPECT_EQ(ranks.run({slice}).slices.at(0).token, only);
  slice.mask.clear();
  EXPECT_EQ(ranks.run({slice}).slices.at(0).token, free_choice);
}

}  // namespace
}  // namespace dure
