// See page_cache.h. Places have numbers of their own, never used twice: a page that is known at
// "after node 7" is only ever found by a walk that came through the very page that was node 7.
#include "schedule/page_cache.h"

#include <algorithm>

#include "base/error.h"

namespace dure {

PageCache::PageCache(int32_t pages, int32_t page_tokens)
    : page_tokens_(page_tokens), pages_(static_cast<size_t>(pages)) {
  free_.reserve(pages_.size());
  for (int32_t page = pages - 1; page >= 0; --page) free_.push_back(page);
}

std::span<const int32_t> PageCache::tokens_of_page(std::span<const int32_t> tokens,
                                                   size_t index) const {
  const auto size = static_cast<size_t>(page_tokens_);
  return tokens.subspan(index * size, size);
}

int32_t PageCache::look_up(const PageKeys& keys, std::span<const int32_t> tokens, size_t index,
                           Node after, bool* taken) const {
  const auto found = by_hash_.find(keys.hashes[index]);
  if (found == by_hash_.end()) return -1;
  if (taken != nullptr) *taken = true;
  const Page& page = at(found->second);
  const auto wanted = tokens_of_page(tokens, index);
  const bool same = page.after == after &&
                    std::equal(page.tokens.begin(), page.tokens.end(), wanted.begin()) &&
                    (index > 0 || page.root_name == keys.root);
  return same ? found->second : -1;
}

PageCache::Prefix PageCache::find(const PageKeys& keys, std::span<const int32_t> tokens,
                                  size_t most) const {
  Prefix prefix;
  most = std::min(most, keys.hashes.size());
  for (size_t i = 0; i < most; ++i) {
    const int32_t page = look_up(keys, tokens, i, prefix.node);
    if (page < 0) break;
    prefix.pages.push_back(page);
    prefix.node = at(page).node;
  }
  return prefix;
}

int32_t PageCache::count_idle(std::span<const int32_t> pages) const {
  return static_cast<int32_t>(std::count_if(
      pages.begin(), pages.end(), [this](int32_t page) { return at(page).holders == 0; }));
}

int32_t PageCache::count_held_once(std::span<const int32_t> pages) const {
  return static_cast<int32_t>(std::count_if(
      pages.begin(), pages.end(), [this](int32_t page) { return at(page).holders == 1; }));
}

void PageCache::hold(std::span<const int32_t> pages) {
  for (const int32_t page : pages) {
    DURE_CHECK(at(page).known);
    if (at(page).holders++ == 0) stop_resting(page);
  }
}

std::vector<int32_t> PageCache::allocate(int32_t count) {
  DURE_CHECK(count >= 0 && count <= available());
  std::vector<int32_t> pages;
  pages.reserve(static_cast<size_t>(count));
  while (static_cast<int32_t>(pages.size()) < count) {
    if (free_.empty()) {
      const int32_t oldest = longest_resting_;
      stop_resting(oldest);
      forget(oldest);
      free_.push_back(oldest);
    }
    pages.push_back(free_.back());
    free_.pop_back();
    at(pages.back()).holders = 1;
  }
  return pages;
}

// Last page first, so that the end of a prefix is taken for others before its beginning: what is
// left can still be found.
void PageCache::release(std::span<const int32_t> pages) {
  for (size_t i = pages.size(); i-- > 0;) {
    const int32_t page = pages[i];
    DURE_CHECK(page >= 0 && page < total() && at(page).holders > 0);
    if (--at(page).holders > 0) continue;
    if (at(page).known) {
      rest(page);
    } else {
      free_.push_back(page);
    }
  }
}

PageCache::Node PageCache::publish(const PageKeys& keys, std::span<const int32_t> tokens,
                                   size_t index, Node after, int32_t page) {
  bool taken = false;
  const int32_t same = look_up(keys, tokens, index, after, &taken);
  if (same >= 0) return at(same).node;
  if (taken) return nowhere;
  Page& made = at(page);
  DURE_CHECK(made.holders > 0 && !made.known);
  made.known = true;
  made.hash = keys.hashes[index];
  made.node = next_node_++;
  made.after = after;
  if (index == 0) made.root_name = keys.root;
  const auto content = tokens_of_page(tokens, index);
  made.tokens.assign(content.begin(), content.end());
  by_hash_.emplace(made.hash, page);
  return made.node;
}

void PageCache::forget_all() {
  DURE_CHECK(held() == 0);
  while (longest_resting_ >= 0) {
    const int32_t page = longest_resting_;
    stop_resting(page);
    forget(page);
    free_.push_back(page);
  }
}

void PageCache::rest(int32_t page) {
  at(page).earlier = last_rested_;
  at(page).later = -1;
  (last_rested_ >= 0 ? at(last_rested_).later : longest_resting_) = page;
  last_rested_ = page;
  ++idle_;
}

void PageCache::stop_resting(int32_t page) {
  const int32_t earlier = at(page).earlier;
  const int32_t later = at(page).later;
  (earlier >= 0 ? at(earlier).later : longest_resting_) = later;
  (later >= 0 ? at(later).earlier : last_rested_) = earlier;
  --idle_;
}

void PageCache::forget(int32_t page) {
  by_hash_.erase(at(page).hash);
  at(page).known = false;
  at(page).root_name.clear();
  at(page).tokens.clear();
}

}  // namespace dure
