// Sampling of every instruction set against its definition (kernels/sample.h): plain loops in
// double over dense arrays, with a full sort.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/backend.h"
#include "kernels/philox.h"

namespace dure {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

// Relative errors of a weight or a sum of them: exp within 2^-22, its argument rounded to 2^-24 of
// at most 64 (smaller weights do not matter to a sum).
constexpr double close = 5e-6;

struct Case {
  std::vector<float> logits;
  std::vector<uint64_t> mask;
  std::vector<int32_t> allowed;
  std::vector<int32_t> forbidden;
  std::vector<TokenBias> bias;
  std::vector<SeenToken> seen;
  SampleRow row;  // looks at the above

  void link() {
    row.logits = logits.data();
    row.rules.mask = mask;
    row.rules.allowed = allowed;
    row.rules.forbidden = forbidden;
    row.rules.bias = bias;
    row.rules.seen = seen;
  }
};

class Dice {
 public:
  explicit Dice(uint64_t seed) : bits_(seed) {}
  int below(int n) { return static_cast<int>(bits_() % static_cast<uint64_t>(n)); }
  bool once_in(int n) { return below(n) == 0; }
  float between(float low, float high) {
    return std::uniform_real_distribution<float>(low, high)(bits_);
  }
  float normal() { return std::normal_distribution<float>()(bits_); }
  template <class T>
  T one_of(std::initializer_list<T> of) {
    return of.begin()[below(static_cast<int>(of.size()))];
  }

 private:
  std::mt19937_64 bits_;
};

std::vector<float> random_logits(Dice& dice, int vocab) {
  const float spread = dice.one_of({0.0f, 0.5f, 2.0f, 6.0f, 30.0f});
  const bool ties = dice.once_in(3);
  std::vector<float> logits;
  for (int i = 0; i < vocab; ++i) {
    float logit = spread * dice.normal();
    if (ties) logit = std::round(logit);
    logits.push_back(dice.once_in(50) ? -infinity : logit);
  }
  if (dice.once_in(2)) logits[static_cast<size_t>(dice.below(vocab))] = 3.0f * spread + 5.0f;
  return logits;
}

Case random_case(Dice& dice, int vocab) {
  Case made;
  made.logits = random_logits(dice, vocab);
  SampleSpec& spec = made.row.spec;
  spec.temperature = dice.one_of({0.0f, 1e-5f, 0.01f, 0.7f, 1.0f, 1.5f, 20.0f});
  spec.top_k = dice.one_of({0, 0, -1, 1, 7, 40, 500, 70000});
  spec.top_p = dice.one_of({1.0f, 1.0f, 0.999f, 0.95f, 0.5f, 0.1f, 1e-6f});
  spec.min_p = dice.one_of({0.0f, 0.0f, 1e-4f, 0.05f, 0.6f, 1.0f});
  spec.seed = static_cast<uint64_t>(dice.below(1 << 30));
  made.row.position = static_cast<uint64_t>(dice.below(100000));
  made.row.logprobs = dice.one_of({-1, 0, 5, 20, 3000});
  const auto token = [&] { return static_cast<int32_t>(dice.below(vocab)); };
  if (dice.once_in(4)) {
    made.mask.resize(static_cast<size_t>((vocab + 63) / 64));
    for (uint64_t& word : made.mask) {
      word = dice.one_of({uint64_t{0}, ~uint64_t{0}, uint64_t{0x8421042108421084}});
    }
  }
  if (dice.once_in(6)) {
    for (int i = dice.below(40); i >= 0; --i) made.allowed.push_back(token());
  }
  if (dice.once_in(4)) {
    for (int i = dice.below(5); i >= 0; --i) made.forbidden.push_back(token());
  }
  if (dice.once_in(4)) {
    for (int i = dice.below(5); i >= 0; --i) made.bias.push_back({token(), 20.0f * dice.normal()});
  }
  if (dice.once_in(3)) {
    std::vector<bool> taken(static_cast<size_t>(vocab), false);
    for (int i = dice.below(200); i >= 0; --i) {
      const int32_t seen = token();
      if (taken[static_cast<size_t>(seen)]) continue;
      taken[static_cast<size_t>(seen)] = true;
      made.seen.push_back({seen, dice.below(4)});
    }
    made.row.rules.repetition = dice.one_of({1.0f, 1.2f, 0.8f});
    made.row.rules.frequency = dice.one_of({0.0f, 0.5f, -0.5f});
    made.row.rules.presence = dice.one_of({0.0f, 1.5f, -1.0f});
  }
  made.link();
  return made;
}

std::vector<float> ruled(const Case& made) {
  const LogitRules& rules = made.row.rules;
  std::vector<float> logits = made.logits;
  for (size_t t = 0; t < logits.size(); ++t) {
    const auto id = static_cast<int32_t>(t);
    const auto has = [&](const std::vector<int32_t>& list) {
      return std::find(list.begin(), list.end(), id) != list.end();
    };
    const bool masked = !made.mask.empty() && (made.mask[t / 64] >> (t % 64) & 1) == 0;
    if (masked || (!made.allowed.empty() && !has(made.allowed)) || has(made.forbidden)) {
      logits[t] = -infinity;
    }
  }
  for (const TokenBias& each : made.bias) logits[static_cast<size_t>(each.token)] += each.bias;
  for (const SeenToken& each : made.seen) {
    float& logit = logits[static_cast<size_t>(each.token)];
    logit = logit > 0 ? logit / rules.repetition : logit * rules.repetition;
    logit -= rules.frequency * static_cast<float>(each.produced);
    if (each.produced > 0) logit -= rules.presence;
  }
  return logits;
}

// Ids above -inf, those that rank highest first.
std::vector<int32_t> ranking(const std::vector<float>& logits) {
  std::vector<int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  const auto logit = [&](int32_t id) { return logits[static_cast<size_t>(id)]; };
  std::erase_if(order, [&](int32_t id) { return logit(id) == -infinity; });
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t a, int32_t b) { return logit(a) > logit(b); });
  return order;
}

// What the definition draws: the tokens at `uniform` and within `close` of it, if no filter's
// border lies as near to a token. Empty: too near to say.
std::vector<int32_t> defined_tokens(const std::vector<float>& logits, const SampleSpec& spec,
                                    uint64_t position) {
  std::vector<int32_t> order = ranking(logits);
  if (order.empty()) return {nothing_allowed};
  if (spec.temperature < 1e-5f) return {order[0]};
  const double top = logits[static_cast<size_t>(order[0])];
  const auto weight = [&](int32_t id) {
    return std::exp((static_cast<double>(logits[static_cast<size_t>(id)]) - top) /
                    spec.temperature);
  };
  const auto sum = [&] {
    double total = 0.0;
    for (const int32_t id : order) total += weight(id);
    return total;
  };
  const double least = spec.min_p * (1 - 1e-5);
  for (const int32_t id : order) {
    if (std::abs(weight(id) - least) < close * least) return {};
  }
  std::erase_if(order, [&](int32_t id) { return weight(id) < least; });
  if (spec.top_k > 0 && static_cast<size_t>(spec.top_k) < order.size()) {
    order.resize(static_cast<size_t>(spec.top_k));
  }
  if (spec.top_p < 1.0f) {
    const double total = sum();
    const double mass = spec.top_p * total;
    double above = 0.0;
    size_t kept = 0;
    while (kept < order.size() && (kept == 0 || above < mass)) {
      above += weight(order[kept++]);
      if (std::abs(above - mass) < close * total) return {};
    }
    order.resize(kept);
  }
  std::sort(order.begin(), order.end());
  const double total = sum();
  const double target = philox_uniform(spec.seed, position) * total;
  std::vector<int32_t> tokens;
  double below = 0.0;
  for (const int32_t id : order) {
    const double next = below + weight(id);
    if (next > target - close * total && below <= target + close * total && next > below) {
      tokens.push_back(id);
    }
    below = next;
  }
  return tokens;
}

void expect_logprobs(const Case& made, const SampledRow& got) {
  const std::vector<int32_t> order = ranking(made.logits);
  const auto logit = [&](int32_t id) {
    return static_cast<double>(made.logits[static_cast<size_t>(id)]);
  };
  const double top = logit(order[0]);
  double sum = 0.0;
  for (const int32_t id : order) sum += std::exp(logit(id) - top);
  const auto expect_close = [&](float found, int32_t id) {
    const double defined = logit(id) - top - std::log(sum);
    if (std::isinf(defined)) {
      EXPECT_EQ(found, -infinity);
    } else {
      EXPECT_NEAR(found, defined, close + std::abs(defined) * 0x1p-23);
    }
  };
  expect_close(got.logprob, got.token);
  const auto larger = std::count_if(order.begin(), order.end(),
                                    [&](int32_t id) { return logit(id) > logit(got.token); });
  EXPECT_EQ(got.rank, 1 + larger);
  const size_t count = std::min(order.size(), static_cast<size_t>(made.row.logprobs));
  ASSERT_EQ(got.top.size(), count);
  for (size_t i = 0; i < count; ++i) {
    ASSERT_EQ(got.top[i].token, order[i]);
    expect_close(got.top[i].logprob, order[i]);
  }
}

TEST(SampleDefinition, EveryInstructionSetDrawsWhatTheDefinitionDraws) {
  for (const std::string_view isa : cpu_isas()) {
    const auto backend = make_cpu_backend(1, isa);
    Dice dice(11);
    int sure = 0;
    int cases = 0;
    for (const int vocab : {1, 2, 70, 1023, 1024, 3000, 20000}) {
      for (int i = 0; i < (vocab < 5000 ? 300 : 60); ++i, ++cases) {
        const Case made = random_case(dice, vocab);
        SampledRow got;
        backend->sample({&made.row, 1}, vocab, &got);
        SCOPED_TRACE(testing::Message() << isa << ", vocabulary " << vocab << ", case " << i);
        if (ranking(made.logits).empty()) {
          EXPECT_EQ(got.token, no_distribution);
          continue;
        }
        const auto tokens = defined_tokens(ruled(made), made.row.spec, made.row.position);
        if (tokens.empty()) continue;
        ++sure;
        ASSERT_TRUE(std::find(tokens.begin(), tokens.end(), got.token) != tokens.end())
            << "drew " << got.token << " instead of " << tokens[0] << ", temperature "
            << made.row.spec.temperature << " top_k " << made.row.spec.top_k << " top_p "
            << made.row.spec.top_p << " min_p " << made.row.spec.min_p;
        if (made.row.logprobs >= 0 && got.token >= 0) expect_logprobs(made, got);
      }
    }
    EXPECT_GT(sure, cases * 8 / 10) << isa;
  }
}

TEST(SampleDefinition, AllVectorInstructionSetsDrawTheSameBits) {
  std::vector<std::unique_ptr<Backend>> backends;
  for (const std::string_view isa : cpu_isas()) {
    if (isa != "reference") backends.push_back(make_cpu_backend(1, isa));
  }
  if (backends.empty()) GTEST_SKIP() << "this CPU runs the reference only";
  Dice dice(12);
  for (int i = 0; i < 300; ++i) {
    Case made = random_case(dice, 2500);
    SampledRow first;
    backends[0]->sample({&made.row, 1}, 2500, &first);
    for (const auto& backend : backends) {
      SampledRow got;
      backend->sample({&made.row, 1}, 2500, &got);
      ASSERT_EQ(got.token, first.token) << backend->isa();
      ASSERT_EQ(got.logprob, first.logprob) << backend->isa();
    }
  }
}

}  // namespace
}  // namespace dure
