// Places of bounded experts, in cases small enough to settle by hand.
#include "layers/capacity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace dure {
namespace {

using testing::ElementsAre;

struct Slots {
  std::vector<int32_t> ids;
  std::vector<float> weights;
};

SlotCounts settle(Slots& slots, int64_t top_k, int64_t experts, int64_t places,
                  const NextBest& next_best = {}) {
  return settle_slots(static_cast<int64_t>(slots.ids.size()) / top_k, top_k, experts, places,
                      slots.ids.data(), slots.weights.data(), next_best);
}

// The same list for every row.
NextBest always(const std::vector<RankedExpert>& ranked) {
  return [ranked](int64_t) { return std::span<const RankedExpert>(ranked); };
}

TEST(Capacity, IsAShareOfTheSlotsRoundedUp) {
  EXPECT_EQ(places_of_expert(1.0, 16, 2, 8), 4);
  EXPECT_EQ(places_of_expert(1.25, 16, 2, 8), 5);
  EXPECT_EQ(places_of_expert(1.01, 16, 2, 8), 5);
  EXPECT_EQ(places_of_expert(1.0, 1, 2, 8), 1);  // a lone token always gets its experts
  EXPECT_EQ(places_of_expert(0.01, 3, 1, 64), 1);
  EXPECT_EQ(places_of_expert(1.0, 0, 2, 8), 0);
}

TEST(Capacity, OfAFractionThatNoDoubleHoldsIsTheOneThatWasMeant) {
  EXPECT_EQ(places_of_expert(1.1, 40, 2, 8), 11);  // 1.1 * 80 / 8 is 11.000000000000002
  EXPECT_EQ(places_of_expert(0.1, 30, 1, 3), 1);
}

TEST(Capacity, IsNeverMoreThanTheRows) {
  EXPECT_EQ(places_of_expert(100.0, 16, 2, 8), 16);
  EXPECT_EQ(places_of_expert(1e300, 16, 2, 8), 16);
}

TEST(Capacity, LaterRowsAreDroppedAndOtherSlotsKeepTheirWeights) {
  Slots slots{{0, 1, 0, 2, 0, 1}, {0.6f, 0.4f, 0.7f, 0.3f, 0.5f, 0.5f}};
  EXPECT_EQ(settle(slots, 2, 3, 2), (SlotCounts{.dropped = 1, .moved = 0}));
  EXPECT_THAT(slots.ids, ElementsAre(0, 1, 0, 2, dropped_slot, 1));
  EXPECT_THAT(slots.weights, ElementsAre(0.6f, 0.4f, 0.7f, 0.3f, 0.0f, 0.5f));
}

TEST(Capacity, EarlierRowsComeFirstWhateverTheirSlotOrWeight) {
  // Row 0 has expert 1 as its second choice and little of it; row 1 has it as its first.
  Slots slots{{0, 1, 1, 2}, {0.9f, 0.1f, 0.9f, 0.1f}};
  EXPECT_EQ(settle(slots, 2, 3, 1), (SlotCounts{.dropped = 1, .moved = 0}));
  EXPECT_THAT(slots.ids, ElementsAre(0, 1, dropped_slot, 2));
}

TEST(Capacity, EqualWeightsAreSettledByRowToo) {
  Slots slots{{0, 0, 0}, {0.5f, 0.5f, 0.5f}};
  EXPECT_EQ(settle(slots, 1, 2, 1), (SlotCounts{.dropped = 2, .moved = 0}));
  EXPECT_THAT(slots.ids, ElementsAre(0, dropped_slot, dropped_slot));
}

TEST(Capacity, AFullExpertsSlotGoesToTheNextBestWithRoom) {
  Slots slots{{0, 0, 0, 0}, {0.9f, 0.8f, 0.7f, 0.6f}};
  // Expert 2 comes before 1, and each has one place.
  EXPECT_EQ(settle(slots, 1, 3, 1, always({{2, 0.2f}, {1, 0.1f}})),
            (SlotCounts{.dropped = 1, .moved = 2}));
  EXPECT_THAT(slots.ids, ElementsAre(0, 2, 1, dropped_slot));
  EXPECT_THAT(slots.weights, ElementsAre(0.9f, 0.2f, 0.1f, 0.0f));
}

TEST(Capacity, ASlotThatMovedTakesAPlaceFromThoseAfterIt) {
  Slots slots{{0, 0, 1}, {0.9f, 0.8f, 0.7f}};
  EXPECT_EQ(settle(slots, 1, 2, 1, always({{1, 0.1f}})), (SlotCounts{.dropped = 1, .moved = 1}));
  EXPECT_THAT(slots.ids, ElementsAre(0, 1, dropped_slot));
}

TEST(Capacity, ATokenNeverTakesAnExpertTwice) {
  // Row 1 finds both experts full, moves its first slot to 2, and has nothing left for the second,
  // also where the list repeats what it chose.
  Slots slots{{0, 1, 0, 1}, {0.6f, 0.4f, 0.6f, 0.4f}};
  EXPECT_EQ(settle(slots, 2, 3, 1, always({{0, 0.3f}, {1, 0.3f}, {2, 0.2f}})),
            (SlotCounts{.dropped = 1, .moved = 1}));
  EXPECT_THAT(slots.ids, ElementsAre(0, 1, 2, dropped_slot));
}

TEST(Capacity, AskedOnlyForRowsThatNeedIt) {
  std::vector<int64_t> asked;
  const NextBest note = [&](int64_t row) {
    asked.push_back(row);
    return std::span<const RankedExpert>();
  };
  Slots slots{{0, 1, 0, 1}, {1, 1, 1, 1}};
  EXPECT_EQ(settle(slots, 1, 2, 1, note), (SlotCounts{.dropped = 2, .moved = 0}));
  EXPECT_THAT(asked, ElementsAre(2, 3));
}

TEST(Capacity, OfNoRowsIsNothing) {
  Slots slots;
  EXPECT_EQ(settle(slots, 2, 8, 0), SlotCounts{});
}

TEST(Capacity, HoldsForAnyRoutingAndChangesNothingWhereItIsLarge) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    const int64_t experts = 2 + static_cast<int64_t>(random() % 12);
    const int64_t top_k = 1 + static_cast<int64_t>(random()) % experts;
    const int64_t rows = static_cast<int64_t>(random() % 40);
    std::vector<int32_t> all(static_cast<size_t>(experts));
    std::vector<std::vector<RankedExpert>> rest;
    Slots before;
    for (int64_t row = 0; row < rows; ++row) {
      for (size_t e = 0; e < all.size(); ++e) all[e] = static_cast<int32_t>(e);
      std::shuffle(all.begin(), all.end(), random);
      before.ids.insert(before.ids.end(), all.begin(), all.begin() + top_k);
      rest.emplace_back();
      for (int64_t e = top_k; e < experts; ++e) {
        rest.back().push_back({all[static_cast<size_t>(e)], 0.5f});
      }
    }
    before.weights.assign(before.ids.size(), 1.0f);
    const NextBest next = [&](int64_t row) {
      return std::span<const RankedExpert>(rest[static_cast<size_t>(row)]);
    };

    Slots same = before;
    EXPECT_EQ(settle(same, top_k, experts, places_of_expert(1e9, rows, top_k, experts), next),
              SlotCounts{});
    EXPECT_EQ(same.ids, before.ids);

    const int64_t places = places_of_expert(1.0, rows, top_k, experts);
    Slots after = before;
    const SlotCounts counts = settle(after, top_k, experts, places, next);
    std::vector<int64_t> taken(static_cast<size_t>(experts), 0);
    SlotCounts found;
    for (size_t i = 0; i < after.ids.size(); ++i) {
      if (after.ids[i] == dropped_slot) {
        ++found.dropped;
        EXPECT_EQ(after.weights[i], 0.0f);
        continue;
      }
      ++taken[static_cast<size_t>(after.ids[i])];
      if (after.ids[i] != before.ids[i]) ++found.moved;
    }
    EXPECT_EQ(found, counts);
    for (const int64_t count : taken) EXPECT_LE(count, places);
    for (int64_t row = 0; row < rows; ++row) {
      std::vector<int32_t> own(after.ids.begin() + row * top_k,
                               after.ids.begin() + (row + 1) * top_k);
      std::erase(own, dropped_slot);
      std::sort(own.begin(), own.end());
      EXPECT_EQ(std::adjacent_find(own.begin(), own.end()), own.end());
    }
  }
}

}  // namespace
}  // namespace dure
