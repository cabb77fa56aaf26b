// What the recurrent operations promise on every instruction set: the same bits however a sequence
// is cut, batched and spread, states that are their sequence's alone, and the reference's bits
// where exp is exact. What they compute is checked in recurrent_definition_test.cc.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "kernels/backend.h"
#include "kernels/compare_floats.h"
#include "kernels/recurrent_cases.h"

namespace dure {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();

// Slots that lie 5 floats further apart than they need to.
struct Slab {
  Slab(const Mixer& mixer, int64_t slots, float value)
      : used(mixer.state_floats),
        slot_floats(mixer.state_floats + 5),
        data(static_cast<size_t>(slots * slot_floats), value) {}

  StateLayer layer() { return {data.data(), slot_floats}; }
  std::vector<float> slot(int64_t s) const {
    const auto begin = data.begin() + s * slot_floats;
    return {begin, begin + used};
  }
  // The slot with the gap behind it.
  std::vector<float> whole_slot(int64_t s) const {
    const auto begin = data.begin() + s * slot_floats;
    return {begin, begin + slot_floats};
  }

  int64_t used;
  int64_t slot_floats;
  std::vector<float> data;
};

std::vector<float> no_output(const Mixer& mixer, int64_t rows) {
  return std::vector<float>(static_cast<size_t>(rows * mixer.out_width), nan);
}

struct Result {
  std::vector<float> out;
  std::vector<float> state;
};

// Rows [row, row + cuts.back()) are one sequence; cuts in rising order.
Result run_in_chunks(const Mixer& mixer, Backend& backend, int64_t row,
                     const std::vector<int64_t>& cuts, float stale = nan) {
  Slab slab(mixer, 1, stale);
  std::vector<float> out = no_output(mixer, row + cuts.back());
  int64_t from = 0;
  for (const int64_t to : cuts) {
    const StateSlice slice{row + from, to - from, from, 0};
    mixer.run(backend, {&slice, 1}, slab.layer(), out.data());
    from = to;
  }
  out.erase(out.begin(), out.begin() + row * mixer.out_width);
  return {out, slab.slot(0)};
}

class RecurrentOnIsa : public testing::TestWithParam<std::string_view> {};

TEST_P(RecurrentOnIsa, ChunksOfAPrefillAndSingleDecodesGiveTheBitsOfTheWhole) {
  const int64_t length = 75;
  const auto backend = make_cpu_backend(2, GetParam());
  std::vector<int64_t> single(static_cast<size_t>(length));
  std::iota(single.begin(), single.end(), 1);
  for (const Mixer& mixer : all_mixers(length, Gates::random)) {
    const Result whole = run_in_chunks(mixer, *backend, 0, {length});
    for (const float x : whole.out) ASSERT_TRUE(std::isfinite(x)) << mixer.name;
    for (const std::vector<int64_t>& cuts :
         {single, {1, 3, 20, 75}, {16, 32, 48, 64, 75}, {74, 75}, {2, 4, 39, 75}}) {
      const Result cut = run_in_chunks(mixer, *backend, 0, cuts);
      ASSERT_TRUE(same_bits(cut.out, whole.out)) << mixer.name << ", " << cuts.size() << " chunks";
      ASSERT_TRUE(same_bits(cut.state, whole.state)) << mixer.name;
    }
  }
}

TEST_P(RecurrentOnIsa, ThreadsAndWhatElseIsInTheBatchChangeNoBit) {
  // Three sequences, the first of which goes on from a state.
  const int64_t lengths[] = {40, 1, 23};
  const int64_t rows[] = {0, 41, 42};
  for (const Mixer& mixer : all_mixers(65, Gates::random)) {
    std::vector<Result> alone;
    for (size_t s = 0; s < 3; ++s)
      alone.push_back(
          run_in_chunks(mixer, *make_cpu_backend(1, GetParam()), rows[s], {lengths[s]}));
    for (const int threads : {1, 2, 5}) {
      const auto backend = make_cpu_backend(threads, GetParam());
      for (std::vector<size_t> order : {std::vector<size_t>{0, 1, 2}, {2, 1, 0}, {1, 0, 2}}) {
        Slab slab(mixer, 5, nan);
        const Slab before = slab;
        std::vector<float> out = no_output(mixer, 65);
        const StateSlice first{0, 30, 0, 4};
        mixer.run(*backend, {&first, 1}, slab.layer(), out.data());
        const StateSlice of[] = {{30, 10, 30, 4}, {41, 1, 0, 1}, {42, 23, 0, 2}};
        std::vector<StateSlice> slices;
        for (const size_t s : order) slices.push_back(of[s]);
        mixer.run(*backend, slices, slab.layer(), out.data());
        for (size_t s = 0; s < 3; ++s) {
          const auto begin = out.begin() + rows[s] * mixer.out_width;
          const std::vector<float> got(begin, begin + lengths[s] * mixer.out_width);
          ASSERT_TRUE(same_bits(got, alone[s].out)) << mixer.name << ", sequence " << s;
          ASSERT_TRUE(same_bits(slab.slot(of[s].state), alone[s].state)) << mixer.name;
        }
        // The row between the sequences, the other slots and the gaps are as they were.
        for (int64_t i = 0; i < mixer.out_width; ++i)
          ASSERT_TRUE(std::isnan(out[static_cast<size_t>(40 * mixer.out_width + i)]));
        for (const int64_t s : {0, 3})
          ASSERT_TRUE(same_bits(slab.whole_slot(s), before.whole_slot(s))) << mixer.name;
        for (const int64_t s : {1, 2, 4})
          for (int64_t i = slab.used; i < slab.slot_floats; ++i)
            ASSERT_TRUE(std::isnan(slab.whole_slot(s)[static_cast<size_t>(i)])) << mixer.name;
      }
    }
  }
}

TEST_P(RecurrentOnIsa, ASequenceThatStartsIgnoresWhatItsSlotHolds) {
  const auto backend = make_cpu_backend(2, GetParam());
  for (const Mixer& mixer : all_mixers(20, Gates::random)) {
    const Result clean = run_in_chunks(mixer, *backend, 0, {20}, 0.0f);
    for (const float stale : {nan, std::numeric_limits<float>::infinity(), -3.0f}) {
      for (const std::vector<int64_t>& cuts : {std::vector<int64_t>{20}, {1, 20}}) {
        const Result dirty = run_in_chunks(mixer, *backend, 0, cuts, stale);
        ASSERT_TRUE(same_bits(dirty.out, clean.out)) << mixer.name;
        ASSERT_TRUE(same_bits(dirty.state, clean.state)) << mixer.name;
      }
    }
  }
}

TEST_P(RecurrentOnIsa, ASequenceThatGoesOnReadsItsState) {
  const auto backend = make_cpu_backend(1, GetParam());
  for (const Mixer& mixer : all_mixers(20, Gates::random)) {
    const Result whole = run_in_chunks(mixer, *backend, 0, {20});
    Slab slab(mixer, 1, 0.5f);
    std::vector<float> out = no_output(mixer, 20);
    const StateSlice slice{0, 20, 7, 0};
    mixer.run(*backend, {&slice, 1}, slab.layer(), out.data());
    EXPECT_FALSE(same_bits(out, whole.out)) << mixer.name;
  }
}

TEST_P(RecurrentOnIsa, GivesTheReferenceBitsWhereExpIsExact) {
  const auto reference = make_cpu_backend(1, "reference");
  for (const int threads : {1, 3}) {
    const auto backend = make_cpu_backend(threads, GetParam());
    for (const Mixer& mixer : all_mixers(75, Gates::exact)) {
      const Result expected = run_in_chunks(mixer, *reference, 0, {75});
      const Result got = run_in_chunks(mixer, *backend, 0, {33, 75});
      EXPECT_TRUE(same_bits(got.out, expected.out)) << mixer.name;
      // Padding of the last panel included: its values are zeros.
      EXPECT_TRUE(same_bits(got.state, expected.state)) << mixer.name;
    }
  }
}

TEST_P(RecurrentOnIsa, NoTokensNoHeadsAndNoSlicesAreNothingToDo) {
  const auto backend = make_cpu_backend(2, GetParam());
  for (const Mixer& mixer : all_mixers(4, Gates::random)) {
    Slab slab(mixer, 2, 3.0f);
    std::vector<float> out = no_output(mixer, 4);
    mixer.run(*backend, {}, slab.layer(), out.data());
    const StateSlice empty[] = {{0, 0, 0, 0}, {2, 0, 9, 1}};
    mixer.run(*backend, empty, slab.layer(), out.data());
    for (const float x : out) ASSERT_TRUE(std::isnan(x)) << mixer.name;
    for (const float x : slab.data) ASSERT_EQ(x, 3.0f) << mixer.name;
  }
  const DeltaInputs delta({.heads = 0, .key_heads = 0}, 4, Gates::random, 1);
  const SsmInputs ssm({.heads = 0, .groups = 0}, 4, Gates::random, 1);
  const StateSlice slice{0, 4, 0, 0};
  delta.run(*backend, {&slice, 1}, {}, nullptr);
  ssm.run(*backend, {&slice, 1}, {}, nullptr);
}

TEST_P(RecurrentOnIsa, NanOfOneSequenceStaysInIt) {
  const auto backend = make_cpu_backend(2, GetParam());
  DeltaInputs delta({.key_dim = 20, .value_dim = 50}, 30, Gates::random, 5);
  const Mixer clean = mixer_of("clean", delta);
  delta.qkv[static_cast<size_t>(12 * delta.stride)] = nan;               // q of the first key head
  delta.qkv[static_cast<size_t>(13 * delta.stride + 2 * 2 * 20)] = nan;  // v of the first head
  const Mixer dirty = mixer_of("dirty", delta);
  const StateSlice slices[] = {{0, 20, 0, 0}, {20, 10, 0, 1}};
  Slab clean_slab(clean, 2, 0.0f), dirty_slab(dirty, 2, 0.0f);
  std::vector<float> expected = no_output(clean, 30), got = no_output(dirty, 30);
  clean.run(*backend, slices, clean_slab.layer(), expected.data());
  dirty.run(*backend, slices, dirty_slab.layer(), got.data());
  EXPECT_TRUE(same_bits(dirty_slab.slot(1), clean_slab.slot(1)));
  const int64_t width = clean.out_width;
  for (int64_t i = 0; i < 30 * width; ++i) {
    const int64_t row = i / width, head = i % width / 50, column = i % 50;
    // A query reaches one row of the heads that share its key head; a value one column from there.
    const bool spoilt =
        (row == 12 && head < 2) || (row >= 13 && row < 20 && head == 0 && column == 0);
    const size_t at = static_cast<size_t>(i);
    ASSERT_EQ(std::isnan(got[at]), spoilt) << row << " " << head << " " << column;
    if (!spoilt) {
      ASSERT_EQ(got[at], expected[at]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, RecurrentOnIsa, testing::ValuesIn(cpu_isas()), [](const auto& info) {
  std::string name(info.param);
  std::erase(name, '-');
  return name;
});

TEST(Recurrent, Avx2AndAvx512GiveTheSameBits) {
  const auto isas = cpu_isas();
  if (std::find(isas.begin(), isas.end(), "avx512") == isas.end())
    GTEST_SKIP() << "this CPU has no AVX-512";
  for (const Mixer& mixer : all_mixers(75, Gates::random)) {
    const Result a = run_in_chunks(mixer, *make_cpu_backend(1, "avx2"), 0, {75});
    const Result b = run_in_chunks(mixer, *make_cpu_backend(2, "avx512"), 0, {40, 75});
    EXPECT_TRUE(same_bits(a.out, b.out)) << mixer.name;
    EXPECT_TRUE(same_bits(a.state, b.state)) << mixer.name;
  }
}

}  // namespace
}  // namespace dure
