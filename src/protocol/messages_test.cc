// Messages survive the trip unchanged; every cut, extension or unknown value is refused by name.
#include "protocol/messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <limits>
#include <random>

#include "base/error.h"

namespace dure {
namespace {

using testing::ElementsAre;

std::span<const std::byte> body_of(const std::string& frame) {
  return std::as_bytes(std::span(frame)).subspan(sizeof(uint32_t));
}

uint32_t length_of(const std::string& frame) {
  uint32_t length = 0;
  std::memcpy(&length, frame.data(), sizeof length);
  return length;
}

class Dice {
 public:
  explicit Dice(uint64_t seed) : bits_(seed) {}
  int below(int n) { return static_cast<int>(bits_() % static_cast<uint64_t>(n)); }
  template <typename T>
  T any() {
    uint64_t word = bits_();
    T value;
    std::memcpy(&value, &word, sizeof value);
    return value;
  }
  std::string text() {
    std::string result(static_cast<size_t>(below(40)), '\0');
    for (char& c : result) c = static_cast<char>(below(256));
    return result;
  }
  template <typename T>
  std::vector<T> many() {
    std::vector<T> result(static_cast<size_t>(below(30)));
    for (T& item : result) item = any<T>();
    return result;
  }

 private:
  std::mt19937_64 bits_;
};

SequenceSetup random_setup(Dice& dice) {
  SequenceSetup setup;
  SamplingParams& p = setup.sampling;
  p.temperature = dice.any<float>();
  p.top_p = dice.any<float>();
  p.min_p = dice.any<float>();
  p.top_k = dice.any<int32_t>();
  p.seed = dice.any<uint64_t>();
  p.presence_penalty = dice.any<float>();
  p.frequency_penalty = dice.any<float>();
  p.repetition_penalty = dice.any<float>();
  p.logit_bias.resize(static_cast<size_t>(dice.below(4)));
  for (LogitBias& each : p.logit_bias) each = {dice.any<int32_t>(), dice.any<float>()};
  p.allowed_ids = dice.many<int32_t>();
  p.bad_words.resize(static_cast<size_t>(dice.below(4)));
  for (auto& word : p.bad_words) word = dice.many<int32_t>();
  p.min_tokens = dice.any<int32_t>();
  p.stop_ids = dice.many<int32_t>();
  p.logprobs = dice.any<int32_t>();
  p.prompt_logprobs = dice.any<int32_t>();
  setup.prompt_tokens = dice.any<int32_t>();
  setup.history = dice.many<int32_t>();
  return setup;
}

TokenLogprobs random_logprobs(Dice& dice) {
  TokenLogprobs made{dice.any<int32_t>(), dice.any<float>(), dice.any<int32_t>(), {}};
  made.top.resize(static_cast<size_t>(dice.below(4)));
  for (TopLogprob& each : made.top) each = {dice.any<int32_t>(), dice.any<float>()};
  return made;
}

ToRanks random_to_ranks(Dice& dice) {
  switch (dice.below(4)) {
    case 0: {
      StartGroup m;
      m.model = dice.text();
      m.layout = {dice.any<int>(), dice.any<int>(), dice.any<int>(), dice.any<int>()};
      m.compute = static_cast<Compute>(dice.below(2));
      m.quantize = static_cast<CodeFormat>(dice.below(3));
      m.kv_dtype = static_cast<DType>(dice.below(4));
      m.page_tokens = dice.any<int32_t>();
      m.pages = dice.any<int32_t>();
      m.context = dice.any<int32_t>();
      m.states = dice.any<int32_t>();
      m.max_batch_tokens = dice.any<int32_t>();
      m.threads = dice.any<int32_t>();
      m.deadline_s = dice.any<double>();
      m.capacity = {dice.any<double>(), static_cast<ExpertOverflow>(dice.below(2))};
      return m;
    }
    case 1: {
      Step m;
      m.id = dice.any<uint64_t>();
      m.slices.resize(static_cast<size_t>(dice.below(6)));
      for (Slice& s : m.slices) {
        s.sequence = dice.any<uint64_t>();
        s.dp = dice.any<int32_t>();
        s.start = dice.any<int32_t>();
        s.tokens = dice.many<int32_t>();
        s.length = dice.any<int32_t>();
        s.tables.resize(static_cast<size_t>(dice.below(3)));
        for (PageTable& table : s.tables) table = {dice.any<int32_t>(), dice.many<int32_t>()};
        s.state = dice.any<int32_t>();
        s.want = static_cast<Want>(dice.below(3));
        if (dice.below(2) == 1) s.setup = random_setup(dice);
        s.next_token = dice.any<int32_t>();
        s.mask = dice.many<uint64_t>();
      }
      return m;
    }
    case 2:
      return StopGroup{};
    default:
      return AskStats{};
  }
}

GroupStats random_stats(Dice& dice) {
  GroupStats m;
  m.dropped_slots = dice.any<int64_t>();
  m.moved_slots = dice.any<int64_t>();
  m.ranks.resize(static_cast<size_t>(dice.below(4)));
  for (RankStats& r : m.ranks) {
    r.rank = dice.any<int32_t>();
    r.ops.resize(static_cast<size_t>(dice.below(3)));
    for (OpTotals& op : r.ops) op = {dice.text(), dice.any<int64_t>(), dice.any<double>()};
    r.parts.resize(static_cast<size_t>(dice.below(3)));
    for (PartSeconds& part : r.parts) part = {dice.text(), dice.any<double>()};
    r.experts.resize(static_cast<size_t>(dice.below(3)));
    for (ExpertLoad& load : r.experts) {
      load = {dice.any<int32_t>(), dice.any<int32_t>(), dice.many<int64_t>()};
    }
  }
  return m;
}

FromRanks random_from_ranks(Dice& dice) {
  switch (dice.below(5)) {
    case 0:
      return LoadProgress{dice.any<int64_t>(), dice.any<int64_t>()};
    case 1: {
      GroupReady m;
      m.ranks.resize(static_cast<size_t>(dice.below(5)));
      for (RankReport& r : m.ranks) {
        r = {dice.any<int32_t>(), dice.any<int32_t>(), dice.text(),         dice.text(),
             dice.any<int64_t>(), dice.any<int64_t>(), dice.any<int64_t>(), dice.any<int64_t>(),
             dice.any<int64_t>(), dice.any<double>(),  dice.any<int64_t>(), dice.any<uint64_t>()};
      }
      return m;
    }
    case 2: {
      StepDone m;
      m.id = dice.any<uint64_t>();
      m.seconds = dice.any<double>();
      m.slices.resize(static_cast<size_t>(dice.below(5)));
      for (SliceResult& s : m.slices) {
        s.sequence = dice.any<uint64_t>();
        s.token = dice.any<int32_t>();
        if (dice.below(2) == 1) {
          s.trace = TracedSlice{dice.any<int32_t>(), dice.any<int32_t>(),  dice.any<int32_t>(),
                                dice.many<float>(),  dice.many<int32_t>(), dice.many<float>()};
        }
        if (dice.below(2) == 1) s.logprobs = random_logprobs(dice);
        s.prompt_logprobs.resize(static_cast<size_t>(dice.below(3)));
        for (TokenLogprobs& each : s.prompt_logprobs) each = random_logprobs(dice);
      }
      return m;
    }
    case 3:
      return GroupFailed{dice.any<int32_t>(), dice.any<uint8_t>(), dice.text(), dice.text()};
    default:
      return random_stats(dice);
  }
}

// NaNs travel too, so equality is of bytes: a message is unchanged if it encodes to the same frame.
// The tests of single fields below keep this from passing on fields that neither side writes.
TEST(Messages, RandomMessagesSurviveTheTrip) {
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    Dice dice(seed);
    const std::string there = encode(random_to_ranks(dice));
    ASSERT_EQ(length_of(there), body_of(there).size());
    ASSERT_EQ(encode(decode_to_ranks(body_of(there))), there) << "seed " << seed;
    const std::string back = encode(random_from_ranks(dice));
    ASSERT_EQ(length_of(back), body_of(back).size());
    ASSERT_EQ(encode(decode_from_ranks(body_of(back))), back) << "seed " << seed;
  }
}

TEST(Messages, StartGroupKeepsEveryField) {
  const StartGroup sent{"/m/폴더",
                        {2, 3, 4, 8},
                        Compute::fp32,
                        CodeFormat::q4,
                        DType::f16,
                        32,
                        99,
                        1000,
                        3,
                        512,
                        7,
                        2.5,
                        {1.25, ExpertOverflow::next}};
  const auto got = std::get<StartGroup>(decode_to_ranks(body_of(encode(ToRanks(sent)))));
  EXPECT_EQ(got.model, sent.model);
  EXPECT_EQ(got.layout, sent.layout);
  EXPECT_EQ(got.compute, Compute::fp32);
  EXPECT_EQ(got.quantize, CodeFormat::q4);
  EXPECT_EQ(got.kv_dtype, DType::f16);
  EXPECT_EQ(got.page_tokens, 32);
  EXPECT_EQ(got.pages, 99);
  EXPECT_EQ(got.context, 1000);
  EXPECT_EQ(got.states, 3);
  EXPECT_EQ(got.max_batch_tokens, 512);
  EXPECT_EQ(got.threads, 7);
  EXPECT_EQ(got.deadline_s, 2.5);
  EXPECT_EQ(got.capacity, sent.capacity);
}

TEST(Messages, StepKeepsEveryField) {
  const SamplingParams params{0.5f,        0.9f,   0.1f,          40, 8,        0.25f, -0.75f, 1.5f,
                              {{3, 2.5f}}, {4, 5}, {{6}, {7, 8}}, 9,  {10, 11}, 12,    13};
  const Step sent{42,
                  {{7,
                    1,
                    96,
                    {5, -1, 1 << 30},
                    {{2, {3, 4}}, {5, {}}},
                    120,
                    6,
                    Want::all_logits,
                    SequenceSetup{params, 14, {15, 16}},
                    17,
                    {uint64_t{1} << 63, 18}}}};
  const auto got = std::get<Step>(decode_to_ranks(body_of(encode(ToRanks(sent)))));
  ASSERT_EQ(got.slices.size(), 1u);
  const Slice& s = got.slices[0];
  EXPECT_EQ(got.id, 42u);
  EXPECT_EQ(s.sequence, 7u);
  EXPECT_EQ(s.dp, 1);
  EXPECT_EQ(s.start, 96);
  EXPECT_THAT(s.tokens, ElementsAre(5, -1, 1 << 30));
  ASSERT_EQ(s.tables.size(), 2u);
  EXPECT_EQ(s.tables[0].first, 2);
  EXPECT_THAT(s.tables[0].pages, ElementsAre(3, 4));
  EXPECT_EQ(s.tables[1].first, 5);
  EXPECT_EQ(s.length, 120);
  EXPECT_EQ(s.state, 6);
  EXPECT_EQ(s.want, Want::all_logits);
  EXPECT_EQ(s.next_token, 17);
  EXPECT_THAT(s.mask, ElementsAre(uint64_t{1} << 63, 18));
  ASSERT_TRUE(s.setup.has_value());
  EXPECT_EQ(s.setup->prompt_tokens, 14);
  EXPECT_THAT(s.setup->history, ElementsAre(15, 16));
  const SamplingParams& p = s.setup->sampling;
  EXPECT_EQ(p.temperature, 0.5f);
  EXPECT_EQ(p.top_p, 0.9f);
  EXPECT_EQ(p.min_p, 0.1f);
  EXPECT_EQ(p.top_k, 40);
  EXPECT_EQ(p.seed, 8u);
  EXPECT_EQ(p.presence_penalty, 0.25f);
  EXPECT_EQ(p.frequency_penalty, -0.75f);
  EXPECT_EQ(p.repetition_penalty, 1.5f);
  ASSERT_EQ(p.logit_bias.size(), 1u);
  EXPECT_EQ(p.logit_bias[0].token, 3);
  EXPECT_EQ(p.logit_bias[0].bias, 2.5f);
  EXPECT_THAT(p.allowed_ids, ElementsAre(4, 5));
  EXPECT_THAT(p.bad_words, ElementsAre(ElementsAre(6), ElementsAre(7, 8)));
  EXPECT_EQ(p.min_tokens, 9);
  EXPECT_THAT(p.stop_ids, ElementsAre(10, 11));
  EXPECT_EQ(p.logprobs, 12);
  EXPECT_EQ(p.prompt_logprobs, 13);
}

TEST(Messages, ASliceWithoutSetupHasNone) {
  const Step sent{1, {{2, 0, 0, {3}, {{0, {0}}}, 1, 0, Want::token, {}, -1, {}}}};
  const auto got = std::get<Step>(decode_to_ranks(body_of(encode(ToRanks(sent)))));
  EXPECT_FALSE(got.slices.at(0).setup.has_value());
  EXPECT_EQ(got.slices[0].next_token, -1);
}

TEST(SamplingParams, OnlyPenaltiesAndBadWordsOfSeveralTokensLookBack) {
  const auto looks_back = [](const auto& change) {
    SamplingParams params;
    change(params);
    return needs_history(params);
  };
  EXPECT_TRUE(looks_back([](SamplingParams& p) { p.presence_penalty = -0.5f; }));
  EXPECT_TRUE(looks_back([](SamplingParams& p) { p.frequency_penalty = 0.5f; }));
  EXPECT_TRUE(looks_back([](SamplingParams& p) { p.repetition_penalty = 0.9f; }));
  EXPECT_TRUE(looks_back([](SamplingParams& p) { p.bad_words = {{5}, {6, 7}}; }));
  EXPECT_FALSE(looks_back([](SamplingParams& p) {
    p = {0.5f, 0.9f, 0.1f, 40, 8, 0.0f, 0.0f, 1.0f, {{1, 1.0f}}, {1}, {{5}, {6}}, 5, {1}, 3, 3};
  }));
}

TEST(Messages, ResultsKeepEveryField) {
  const float nan = std::bit_cast<float>(0x7fc00123u);
  StepDone sent{9,
                0.25,
                {{1,
                  17,
                  TracedSlice{2, 1, 2, {nan, -0.0f}, {3, 4}, {0.75f, 0.25f}},
                  TokenLogprobs{17, -0.5f, 2, {{18, -0.25f}, {19, -2.5f}}},
                  {{20, -1.5f, 3, {{21, -0.75f}}}, {22, -nan, 4, {}}}},
                 {2, -1, std::nullopt, std::nullopt, {}}}};
  const auto got = std::get<StepDone>(decode_from_ranks(body_of(encode(FromRanks(sent)))));
  ASSERT_EQ(got.slices.size(), 2u);
  EXPECT_EQ(got.id, 9u);
  EXPECT_EQ(got.seconds, 0.25);
  EXPECT_EQ(got.slices[0].sequence, 1u);
  EXPECT_EQ(got.slices[0].token, 17);
  ASSERT_TRUE(got.slices[0].trace.has_value());
  const TracedSlice& t = *got.slices[0].trace;
  EXPECT_EQ(t.vocab, 2);
  EXPECT_EQ(t.moe_layers, 1);
  EXPECT_EQ(t.top_k, 2);
  EXPECT_EQ(std::bit_cast<uint32_t>(t.logits[0]), 0x7fc00123u);
  EXPECT_EQ(std::bit_cast<uint32_t>(t.logits[1]), 0x80000000u);
  EXPECT_THAT(t.expert_ids, ElementsAre(3, 4));
  EXPECT_THAT(t.expert_weights, ElementsAre(0.75f, 0.25f));
  ASSERT_TRUE(got.slices[0].logprobs.has_value());
  const TokenLogprobs& chosen = *got.slices[0].logprobs;
  EXPECT_EQ(chosen.token, 17);
  EXPECT_EQ(chosen.logprob, -0.5f);
  EXPECT_EQ(chosen.rank, 2);
  ASSERT_EQ(chosen.top.size(), 2u);
  EXPECT_EQ(chosen.top[0].token, 18);
  EXPECT_EQ(chosen.top[0].logprob, -0.25f);
  EXPECT_EQ(chosen.top[1].token, 19);
  EXPECT_EQ(chosen.top[1].logprob, -2.5f);
  ASSERT_EQ(got.slices[0].prompt_logprobs.size(), 2u);
  EXPECT_EQ(got.slices[0].prompt_logprobs[0].token, 20);
  EXPECT_EQ(got.slices[0].prompt_logprobs[0].logprob, -1.5f);
  EXPECT_EQ(got.slices[0].prompt_logprobs[0].rank, 3);
  ASSERT_EQ(got.slices[0].prompt_logprobs[0].top.size(), 1u);
  EXPECT_EQ(got.slices[0].prompt_logprobs[0].top[0].token, 21);
  EXPECT_EQ(got.slices[0].prompt_logprobs[1].token, 22);
  EXPECT_EQ(got.slices[1].token, -1);
  EXPECT_FALSE(got.slices[1].trace.has_value());
  EXPECT_FALSE(got.slices[1].logprobs.has_value());
  EXPECT_TRUE(got.slices[1].prompt_logprobs.empty());

  const GroupFailed failed{3, 1, "no", "try"};
  const auto f = std::get<GroupFailed>(decode_from_ranks(body_of(encode(FromRanks(failed)))));
  EXPECT_EQ(f.rank, 3);
  EXPECT_EQ(f.code, 1);
  EXPECT_EQ(f.message, "no");
  EXPECT_EQ(f.hint, "try");

  const GroupStats stats{
      {{1, {{"all_reduce", 2, 3.5}}, {{"attention", 4.5}}, {{5, 6, {7, 8}}}}}, 9, 10};
  const auto g = std::get<GroupStats>(decode_from_ranks(body_of(encode(FromRanks(stats)))));
  ASSERT_EQ(g.ranks.size(), 1u);
  EXPECT_EQ(g.ranks[0].rank, 1);
  ASSERT_EQ(g.ranks[0].ops.size(), 1u);
  EXPECT_EQ(g.ranks[0].ops[0].op, "all_reduce");
  EXPECT_EQ(g.ranks[0].ops[0].sent_bytes, 2);
  EXPECT_EQ(g.ranks[0].ops[0].wait_s, 3.5);
  ASSERT_EQ(g.ranks[0].parts.size(), 1u);
  EXPECT_EQ(g.ranks[0].parts[0].part, "attention");
  EXPECT_EQ(g.ranks[0].parts[0].seconds, 4.5);
  ASSERT_EQ(g.ranks[0].experts.size(), 1u);
  EXPECT_EQ(g.ranks[0].experts[0].layer, 5);
  EXPECT_EQ(g.ranks[0].experts[0].first, 6);
  EXPECT_THAT(g.ranks[0].experts[0].tokens, ElementsAre(7, 8));
  EXPECT_EQ(g.dropped_slots, 9);
  EXPECT_EQ(g.moved_slots, 10);

  const GroupReady ready{{{1, 2, "host", "isa", 3, 4, 5, 6, 7, 8.5, 9, 10}}};
  const auto r = std::get<GroupReady>(decode_from_ranks(body_of(encode(FromRanks(ready)))));
  ASSERT_EQ(r.ranks.size(), 1u);
  EXPECT_EQ(r.ranks[0].rank, 1);
  EXPECT_EQ(r.ranks[0].pid, 2);
  EXPECT_EQ(r.ranks[0].host, "host");
  EXPECT_EQ(r.ranks[0].isa, "isa");
  EXPECT_EQ(r.ranks[0].weight_bytes, 3);
  EXPECT_EQ(r.ranks[0].kv_bytes, 4);
  EXPECT_EQ(r.ranks[0].activation_bytes, 5);
  EXPECT_EQ(r.ranks[0].communication_bytes, 6);
  EXPECT_EQ(r.ranks[0].peak_rss_bytes, 7);
  EXPECT_EQ(r.ranks[0].load_s, 8.5);
  EXPECT_EQ(r.ranks[0].kept_bytes, 9);
  EXPECT_EQ(r.ranks[0].weights_checksum, 10u);
}

template <typename Decode>
std::string refusal(Decode decode, std::span<const std::byte> body) {
  try {
    decode(body);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::failed);
    return error.message();
  }
  return "";
}

TEST(Messages, EveryCutAndEveryExtensionIsRefused) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Dice dice(seed);
    const std::string there = encode(random_to_ranks(dice));
    const std::string back = encode(random_from_ranks(dice));
    for (size_t n = 0; n < body_of(there).size(); ++n) {
      ASSERT_NE(refusal(decode_to_ranks, body_of(there).first(n)), "") << seed << " at " << n;
    }
    for (size_t n = 0; n < body_of(back).size(); ++n) {
      ASSERT_NE(refusal(decode_from_ranks, body_of(back).first(n)), "") << seed << " at " << n;
    }
    ASSERT_NE(refusal(decode_to_ranks, body_of(there + '\0')), "");
    ASSERT_NE(refusal(decode_from_ranks, body_of(back + '\0')), "");
  }
}

TEST(Messages, ACutMessageNamesTheField) {
  const std::string frame =
      encode(ToRanks(Step{1, {{2, 0, 0, {3, 4, 5}, {}, 3, 0, Want::token, {}, -1, {}}}}));
  // kind 1, id 8, count 4, sequence 8, dp 4, start 4, count 4: two of the three tokens are there.
  EXPECT_THAT(refusal(decode_to_ranks, body_of(frame).first(33 + 8)),
              testing::HasSubstr("message Step is cut short in field tokens"));
}

TEST(Messages, AClaimedCountBeyondTheBytesIsRefusedBeforeAllocating) {
  std::string frame = encode(ToRanks(Step{1, {{2, 0, 0, {}, {}, 0, 0, Want::token, {}, -1, {}}}}));
  const uint32_t huge = 0xffffffffu;
  std::memcpy(frame.data() + 4 + 29, &huge, sizeof huge);  // the count of tokens
  EXPECT_THAT(refusal(decode_to_ranks, body_of(frame)),
              testing::HasSubstr("field tokens: needs 17179869180 bytes"));
  std::memcpy(frame.data() + 4 + 9, &huge, sizeof huge);  // the count of slices
  EXPECT_THAT(refusal(decode_to_ranks, body_of(frame)), testing::HasSubstr("field slices"));
}

TEST(Messages, ValuesNoSenderWritesAreRefused) {
  std::string frame = encode(ToRanks(StartGroup{}));
  frame[4 + 1 + 4 + 4 + 16] = 2;  // after kind, version, empty model and the layout: compute
  EXPECT_THAT(refusal(decode_to_ranks, body_of(frame)), testing::HasSubstr("compute is 2"));
  frame = encode(ToRanks(StartGroup{}));
  frame.back() = 2;  // off or on
  EXPECT_THAT(refusal(decode_to_ranks, body_of(frame)), testing::HasSubstr("tracing is 2"));
  frame = encode(ToRanks(StartGroup{}));
  frame[frame.size() - 2] = 2;  // drop or next
  EXPECT_THAT(refusal(decode_to_ranks, body_of(frame)), testing::HasSubstr("overflow is 2"));
  std::string done = encode(FromRanks(StepDone{1, 0.0, {{5, 6, {}, {}, {}}}}));
  done[done.size() - 5] = 2;  // present or not: 0 or 1, before a count
  EXPECT_THAT(refusal(decode_from_ranks, body_of(done)), testing::HasSubstr("logprobs is 2"));
  done = encode(FromRanks(StepDone{1, 0.0, {{5, 6, {}, {}, {}}}}));
  done[done.size() - 6] = 2;
  EXPECT_THAT(refusal(decode_from_ranks, body_of(done)), testing::HasSubstr("trace is 2"));
  std::string step = encode(ToRanks(Step{1, {{2, 0, 0, {}, {}, 0, 0, Want::token, {}, -1, {}}}}));
  step[step.size() - 9] = 2;  // before next_token and the count of mask words
  EXPECT_THAT(refusal(decode_to_ranks, body_of(step)), testing::HasSubstr("setup is 2"));
}

TEST(Messages, AnotherProtocolVersionIsRefusedWithAHint) {
  std::string frame = encode(ToRanks(StartGroup{}));
  frame[4 + 1] = static_cast<char>(protocol_version + 1);
  try {
    decode_to_ranks(body_of(frame));
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.message(), testing::HasSubstr("protocol version"));
    EXPECT_THAT(error.hint(), testing::HasSubstr("same version"));
  }
}

TEST(Messages, AMessageOfTheOtherDirectionIsRefused) {
  EXPECT_THAT(refusal(decode_from_ranks, body_of(encode(ToRanks(StopGroup{})))),
              testing::HasSubstr("not known here"));
  EXPECT_THAT(refusal(decode_to_ranks, body_of(encode(FromRanks(LoadProgress{})))),
              testing::HasSubstr("not known here"));
}

}  // namespace
}  // namespace dure
