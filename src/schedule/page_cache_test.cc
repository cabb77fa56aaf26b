// The cache's rules one by one, and a million random operations against a naive model of it.
#include "schedule/page_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <list>
#include <map>
#include <random>
#include <set>

namespace dure {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int32_t page_tokens = 2;

PageKeys keys_of(const std::vector<int32_t>& tokens, const std::string& root = "") {
  PageKeys keys{root, {}};
  keys.extend(tokens, page_tokens);
  return keys;
}

// Of the first class.
std::vector<int32_t> found(const PageCache& cache, const PageKeys& keys,
                           const std::vector<int32_t>& tokens, size_t most) {
  return cache.find(keys, tokens, most).runs[0].blocks;
}

// A sequence that has computed all its whole pages.
std::vector<int32_t> fill(PageCache& cache, const std::vector<int32_t>& tokens,
                          const std::string& root = "") {
  const PageKeys keys = keys_of(tokens, root);
  PageCache::Prefix prefix = cache.find(keys, tokens, keys.hashes.size());
  cache.hold(prefix.runs);
  std::vector<int32_t> pages = prefix.runs[0].blocks;
  for (const int32_t page :
       cache.allocate(0, static_cast<int64_t>(keys.hashes.size() - pages.size()))) {
    prefix.node = cache.publish(keys, tokens, pages.size(), prefix.node, {&page, 1});
    pages.push_back(page);
  }
  return pages;
}

TEST(PageCache, SharesTheWholePagesOfACommonBeginning) {
  PageCache cache(8, page_tokens);
  const auto first = fill(cache, {1, 2, 3, 4, 5, 6});
  const auto second = fill(cache, {1, 2, 3, 4, 9, 9});
  EXPECT_EQ(second[0], first[0]);
  EXPECT_EQ(second[1], first[1]);
  EXPECT_NE(second[2], first[2]);
  EXPECT_EQ(cache.held(), 4);
}

TEST(PageCache, ComparesTheWholePathNotOnlyThePage) {
  PageCache cache(8, page_tokens);
  fill(cache, {1, 2, 3, 4});
  const std::vector<int32_t> other = {7, 7, 3, 4};
  EXPECT_THAT(found(cache, keys_of(other), other, 2), IsEmpty());
}

// Whoever can make hashes collide gets no foreign page.
TEST(PageCache, DoesNotBelieveAHash) {
  PageCache cache(8, page_tokens);
  const std::vector<int32_t> mine = {1, 2, 3, 4};
  fill(cache, mine);
  const std::vector<int32_t> forged = {8, 8, 3, 4};
  PageKeys keys = keys_of(mine);
  EXPECT_THAT(found(cache, keys, forged, 2), IsEmpty());
  const auto page = cache.allocate(0, 1);
  EXPECT_EQ(cache.publish(keys, forged, 0, PageCache::root, page), PageCache::nowhere);
}

TEST(PageCache, SharesNothingBetweenRoots) {
  PageCache cache(8, page_tokens);
  const std::vector<int32_t> tokens = {1, 2, 3, 4};
  fill(cache, tokens, "a");
  EXPECT_THAT(found(cache, keys_of(tokens, "b"), tokens, 2), IsEmpty());
  EXPECT_EQ(found(cache, keys_of(tokens, "a"), tokens, 2).size(), 2u);
}

TEST(PageCache, KeepsWhatIsLetGoUntilItIsNeededEndsFirst) {
  PageCache cache(4, page_tokens);
  const std::vector<int32_t> tokens = {1, 2, 3, 4, 5, 6};
  const auto pages = fill(cache, tokens);
  cache.release(pages);
  EXPECT_EQ(cache.held(), 0);
  EXPECT_EQ(cache.idle(), 3);
  EXPECT_EQ(cache.available(), 4);
  const auto taken = cache.allocate(0, 2);  // the free one, and the end of the known ones
  EXPECT_THAT(taken, ElementsAre(3, pages[2]));
  EXPECT_EQ(found(cache, keys_of(tokens), tokens, 3).size(), 2u);
}

TEST(PageCache, TakesWhatRestsLongestAndNeverWhatIsHeld) {
  PageCache cache(3, page_tokens);
  const auto a = fill(cache, {1, 1});
  const auto b = fill(cache, {2, 2});
  const auto c = fill(cache, {3, 3});
  cache.release(b);
  cache.release(a);
  EXPECT_THAT(cache.allocate(0, 1), ElementsAre(b[0]));
  EXPECT_THAT(cache.allocate(0, 1), ElementsAre(a[0]));
  EXPECT_EQ(cache.available(), 0);
  EXPECT_EQ(found(cache, keys_of({3, 3}), {3, 3}, 1), c);
}

TEST(PageCache, GivesTheSamePlaceToAPageComputedTwice) {
  PageCache cache(4, page_tokens);
  const std::vector<int32_t> tokens = {1, 2};
  fill(cache, tokens);
  const auto twice = cache.allocate(0, 1);
  const auto place = cache.find(keys_of(tokens), tokens, 1).node;
  EXPECT_EQ(cache.publish(keys_of(tokens), tokens, 0, PageCache::root, twice), place);
  cache.release(twice);  // it is free, not idle: the other one is known
  EXPECT_EQ(cache.idle(), 0);
}

TEST(PageCacheDeath, StopsAtALetGoOfWhatIsNotHeld) {
  PageCache cache(2, page_tokens);
  EXPECT_DEATH(cache.release(std::vector<int32_t>{0}), "");
  EXPECT_DEATH(cache.allocate(0, 3), "");
}

// Layers that see 3 tokens back, on two tables, beside layers that see all.
struct Windowed {
  PageCache cache{30, page_tokens, {{}, {.reach = 3, .tables = 2}}};
  std::vector<int32_t> tokens = {1, 2, 3, 4, 5, 6, 7, 8};
  PageKeys keys = keys_of(tokens);

  // Blocks of both classes for all tokens, known.
  std::array<std::vector<int32_t>, 2> fill() {
    std::array<std::vector<int32_t>, 2> blocks = {cache.allocate(0, 4), cache.allocate(1, 4)};
    PageCache::Node node = PageCache::root;
    for (size_t i = 0; i < 4; ++i) {
      const int32_t at[] = {blocks[0][i], blocks[1][i]};
      node = cache.publish(keys, tokens, i, node, at);
    }
    return blocks;
  }
};

TEST(PageCache, FindsOfWindowedLayersWhatIsSeenFromTheEnd) {
  Windowed w;
  const auto [all, window] = w.fill();
  EXPECT_EQ(w.cache.held(), 4 + 2 * 4);
  const PageCache::Prefix prefix = w.cache.find(w.keys, w.tokens, 4);
  EXPECT_EQ(prefix.blocks, 4);
  EXPECT_EQ(prefix.runs[0].first, 0);
  EXPECT_EQ(prefix.runs[0].blocks, all);
  EXPECT_EQ(prefix.runs[1].first, 3);  // position 8 sees 6 and 7
  EXPECT_THAT(prefix.runs[1].blocks, ElementsAre(window[3]));
}

TEST(PageCache, OfWindowedLayersABeginningEndsWhereTheWindowIsKnown) {
  Windowed w;
  const auto [all, window] = w.fill();
  w.cache.release(std::span(window).subspan(2, 1));
  EXPECT_EQ(w.cache.idle(), 2);
  w.cache.allocate(0, w.cache.available());  // takes the two pages of that block last
  EXPECT_EQ(w.cache.find(w.keys, w.tokens, 4).blocks, 4);
  EXPECT_EQ(w.cache.find(w.keys, w.tokens, 3).blocks, 2);
  w.cache.release(std::span(window).subspan(1, 1));
  w.cache.release(std::span(window).subspan(3, 1));
  const auto again = w.cache.allocate(1, 2);
  const PageCache::Prefix left = w.cache.find(w.keys, w.tokens, 4);
  EXPECT_EQ(left.blocks, 1);
  EXPECT_EQ(left.runs[1].first, 0);  // position 2 sees 0 and 1
  // Computed anew, the windowed block joins the place that is known.
  w.cache.release(again);
  const auto mine = w.cache.allocate(1, 1);
  const int32_t at[] = {all[1], mine[0]};
  w.cache.publish(w.keys, w.tokens, 1, left.node, at);
  EXPECT_EQ(w.cache.find(w.keys, w.tokens, 4).blocks, 2);
}

// Who computes anew what follows a lost beginning is found, and the orphan is not in its way.
TEST(PageCache, AnOrphanMakesWay) {
  PageCache cache(4, page_tokens, {{.reach = 3}});
  const std::vector<int32_t> tokens = {1, 2, 3, 4};
  const auto pages = fill(cache, tokens);
  cache.release(std::span(pages).first(1));
  cache.release(std::span(pages).last(1));
  const auto others = cache.allocate(0, 3);  // two free ones and the beginning
  cache.release(others);
  EXPECT_EQ(cache.find(keys_of(tokens), tokens, 2).blocks, 0);
  fill(cache, tokens);
  EXPECT_EQ(cache.find(keys_of(tokens), tokens, 2).blocks, 2);
  EXPECT_EQ(cache.held(), 2);
}

// The naive model: known pages by their whole beginning, and a list of idle ones by age.
class Naive {
 public:
  explicit Naive(int32_t pages) : holders(static_cast<size_t>(pages), 0) {}
  std::vector<int32_t> holders;
  std::map<std::vector<int32_t>, int32_t> known;
  std::list<int32_t> idle;

  void forget(int32_t page) {
    std::erase_if(known, [&](const auto& entry) { return entry.second == page; });
  }
  bool knows(int32_t page) const {
    for (const auto& [beginning, other] : known) {
      if (other == page) return true;
    }
    return false;
  }
};

TEST(PageCache, IsTheNaiveModelOverAMillionOperations) {
  constexpr int32_t pages = 12;
  PageCache cache(pages, page_tokens);
  Naive naive(pages);
  std::mt19937 random(5);
  struct Held {
    std::vector<int32_t> tokens;
    std::vector<int32_t> pages;
  };
  std::vector<Held> sequences;
  for (int operation = 0; operation < 1'000'000; ++operation) {
    if (random() % 2 == 0 && !sequences.empty()) {
      const size_t at = random() % sequences.size();
      const std::vector<int32_t> gone = sequences[at].pages;
      cache.release(gone);
      for (size_t i = gone.size(); i-- > 0;) {
        const int32_t page = gone[i];
        if (--naive.holders[static_cast<size_t>(page)] == 0 && naive.knows(page)) {
          naive.idle.push_back(page);
        }
      }
      sequences.erase(sequences.begin() + static_cast<std::ptrdiff_t>(at));
    } else {
      std::vector<int32_t> tokens(page_tokens * (1 + random() % 4));
      for (int32_t& token : tokens) token = static_cast<int32_t>(random() % 2);
      const PageKeys keys = keys_of(tokens);
      const size_t whole = keys.hashes.size();
      PageCache::Prefix prefix = cache.find(keys, tokens, whole);
      std::vector<int32_t> expected;
      for (size_t i = 1; i <= whole; ++i) {
        const auto found = naive.known.find(
            {tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(i) * page_tokens});
        if (found == naive.known.end()) break;
        expected.push_back(found->second);
      }
      std::vector<int32_t> blocks = prefix.runs[0].blocks;
      ASSERT_EQ(blocks, expected) << operation;
      const auto more = static_cast<int32_t>(whole - blocks.size());
      if (more + cache.count_idle(prefix.runs) > cache.available()) continue;
      cache.hold(prefix.runs);
      for (const int32_t page : blocks) {
        if (naive.holders[static_cast<size_t>(page)]++ == 0) naive.idle.remove(page);
      }
      for (const int32_t page : cache.allocate(0, more)) {
        ASSERT_EQ(naive.holders[static_cast<size_t>(page)], 0) << "in use";
        if (naive.knows(page)) {
          ASSERT_EQ(page, naive.idle.front()) << "not the one that rests longest";
          naive.idle.pop_front();
          naive.forget(page);
        }
        naive.holders[static_cast<size_t>(page)] = 1;
        const size_t index = blocks.size();
        prefix.node = cache.publish(keys, tokens, index, prefix.node, {&page, 1});
        ASSERT_NE(prefix.node, PageCache::nowhere);
        blocks.push_back(page);
        // A page whose beginning was taken for others cannot be reached, and another with the same
        // tokens may be made; the naive model knows it by its beginning only, too.
        naive.known.try_emplace(
            {tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(index + 1) * page_tokens},
            page);
      }
      sequences.push_back({tokens, blocks});
    }
    const auto held = std::count_if(naive.holders.begin(), naive.holders.end(),
                                    [](int32_t holders) { return holders > 0; });
    ASSERT_EQ(cache.held(), held);
  }
  for (const Held& sequence : sequences) cache.release(sequence.pages);
  EXPECT_EQ(cache.held(), 0);
  cache.forget_all();
  EXPECT_EQ(cache.available(), pages);
  EXPECT_EQ(cache.idle(), 0);
}

}  // namespace
}  // namespace dure
