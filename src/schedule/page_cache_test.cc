// The cache's rules one by one, and a million random operations against a naive model of it.
#include "schedule/page_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

// A sequence that has computed all its whole pages.
std::vector<int32_t> fill(PageCache& cache, const std::vector<int32_t>& tokens,
                          const std::string& root = "") {
  const PageKeys keys = keys_of(tokens, root);
  PageCache::Prefix prefix = cache.find(keys, tokens, keys.hashes.size());
  cache.hold(prefix.pages);
  const auto more = cache.allocate(static_cast<int32_t>(keys.hashes.size() - prefix.pages.size()));
  for (const int32_t page : more) {
    prefix.node = cache.publish(keys, tokens, prefix.pages.size(), prefix.node, page);
    prefix.pages.push_back(page);
  }
  return prefix.pages;
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
  EXPECT_THAT(cache.find(keys_of(other), other, 2).pages, IsEmpty());
}

// Whoever can make hashes collide gets no foreign page.
TEST(PageCache, DoesNotBelieveAHash) {
  PageCache cache(8, page_tokens);
  const std::vector<int32_t> mine = {1, 2, 3, 4};
  fill(cache, mine);
  const std::vector<int32_t> forged = {8, 8, 3, 4};
  PageKeys keys = keys_of(mine);
  EXPECT_THAT(cache.find(keys, forged, 2).pages, IsEmpty());
  const auto page = cache.allocate(1);
  EXPECT_EQ(cache.publish(keys, forged, 0, PageCache::root, page[0]), PageCache::nowhere);
}

TEST(PageCache, SharesNothingBetweenRoots) {
  PageCache cache(8, page_tokens);
  const std::vector<int32_t> tokens = {1, 2, 3, 4};
  fill(cache, tokens, "a");
  EXPECT_THAT(cache.find(keys_of(tokens, "b"), tokens, 2).pages, IsEmpty());
  EXPECT_EQ(cache.find(keys_of(tokens, "a"), tokens, 2).pages.size(), 2u);
}

TEST(PageCache, KeepsWhatIsLetGoUntilItIsNeededEndsFirst) {
  PageCache cache(4, page_tokens);
  const std::vector<int32_t> tokens = {1, 2, 3, 4, 5, 6};
  const auto pages = fill(cache, tokens);
  cache.release(pages);
  EXPECT_EQ(cache.held(), 0);
  EXPECT_EQ(cache.idle(), 3);
  EXPECT_EQ(cache.available(), 4);
  const auto taken = cache.allocate(2);  // the free one, and the end of the known ones
  EXPECT_THAT(taken, ElementsAre(3, pages[2]));
  EXPECT_EQ(cache.find(keys_of(tokens), tokens, 3).pages.size(), 2u);
}

TEST(PageCache, TakesWhatRestsLongestAndNeverWhatIsHeld) {
  PageCache cache(3, page_tokens);
  const auto a = fill(cache, {1, 1});
  const auto b = fill(cache, {2, 2});
  const auto c = fill(cache, {3, 3});
  cache.release(b);
  cache.release(a);
  EXPECT_THAT(cache.allocate(1), ElementsAre(b[0]));
  EXPECT_THAT(cache.allocate(1), ElementsAre(a[0]));
  EXPECT_EQ(cache.available(), 0);
  EXPECT_EQ(cache.find(keys_of({3, 3}), std::vector<int32_t>{3, 3}, 1).pages, c);
}

TEST(PageCache, GivesTheSamePlaceToAPageComputedTwice) {
  PageCache cache(4, page_tokens);
  const std::vector<int32_t> tokens = {1, 2};
  fill(cache, tokens);
  const auto twice = cache.allocate(1);
  const auto place = cache.find(keys_of(tokens), tokens, 1).node;
  EXPECT_EQ(cache.publish(keys_of(tokens), tokens, 0, PageCache::root, twice[0]), place);
  cache.release(twice);  // it is free, not idle: the other one is known
  EXPECT_EQ(cache.idle(), 0);
}

TEST(PageCacheDeath, StopsAtALetGoOfWhatIsNotHeld) {
  PageCache cache(2, page_tokens);
  EXPECT_DEATH(cache.release(std::vector<int32_t>{0}), "");
  EXPECT_DEATH(cache.allocate(3), "");
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
      ASSERT_EQ(prefix.pages, expected) << operation;
      const auto more = static_cast<int32_t>(whole - prefix.pages.size());
      if (more + cache.count_idle(prefix.pages) > cache.available()) continue;
      cache.hold(prefix.pages);
      for (const int32_t page : prefix.pages) {
        if (naive.holders[static_cast<size_t>(page)]++ == 0) naive.idle.remove(page);
      }
      for (const int32_t page : cache.allocate(more)) {
        ASSERT_EQ(naive.holders[static_cast<size_t>(page)], 0) << "in use";
        if (naive.knows(page)) {
          ASSERT_EQ(page, naive.idle.front()) << "not the one that rests longest";
          naive.idle.pop_front();
          naive.forget(page);
        }
        naive.holders[static_cast<size_t>(page)] = 1;
        const size_t index = prefix.pages.size();
        prefix.node = cache.publish(keys, tokens, index, prefix.node, page);
        ASSERT_NE(prefix.node, PageCache::nowhere);
        prefix.pages.push_back(page);
        // A page whose beginning was taken for others cannot be reached, and another with the same
        // tokens may be made; the naive model knows it by its beginning only, too.
        naive.known.try_emplace(
            {tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(index + 1) * page_tokens},
            page);
      }
      sequences.push_back({tokens, prefix.pages});
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
