// See page_cache.h. Places have numbers of their own, never used twice: a block that is known at
// "after node 7" is only ever found by a walk that came through the very block that was node 7, and
// blocks of other classes at a place that is gone are never found, only taken for others in turn.
#include "schedule/page_cache.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace dure {

PageCache::PageCache(int32_t pages, int32_t page_tokens, std::vector<PageClass> classes)
    : page_tokens_(page_tokens),
      classes_(std::move(classes)),
      pages_(static_cast<size_t>(pages)),
      at_node_(classes_.size() - 1) {
  free_.reserve(pages_.size());
  for (int32_t page = pages - 1; page >= 0; --page) free_.push_back(page);
}

std::span<const int32_t> PageCache::tokens_of_block(std::span<const int32_t> tokens,
                                                    size_t index) const {
  const auto size = static_cast<size_t>(page_tokens_);
  return tokens.subspan(index * size, size);
}

int32_t PageCache::look_up(const PageKeys& keys, std::span<const int32_t> tokens, size_t index,
                           Node after, bool* taken) const {
  const auto found = by_hash_.find(keys.hashes[index]);
  if (found == by_hash_.end()) return -1;
  if (taken != nullptr) *taken = true;
  const Page& block = at(found->second);
  const auto wanted = tokens_of_block(tokens, index);
  const bool same = block.after == after &&
                    std::equal(block.tokens.begin(), block.tokens.end(), wanted.begin()) &&
                    (index > 0 || block.root_name == keys.root);
  return same ? found->second : -1;
}

int32_t PageCache::block_at(size_t of_class, Node node) const {
  const auto& known = at_node_[of_class - 1];
  const auto found = known.find(node);
  return found == known.end() ? -1 : found->second;
}

PageCache::Prefix PageCache::find(const PageKeys& keys, std::span<const int32_t> tokens,
                                  size_t most) const {
  // What is known of the beginning in the first class, and how many blocks that follow each other
  // end there in the others.
  std::vector<std::vector<int32_t>> known(classes_.size());
  std::vector<Node> nodes = {root};
  std::vector<int64_t> unbroken(classes_.size(), 0);
  Prefix prefix;
  most = std::min(most, keys.hashes.size());
  for (size_t i = 0; i < most; ++i) {
    known[0].push_back(look_up(keys, tokens, i, nodes.back()));
    if (known[0].back() < 0) break;
    nodes.push_back(at(known[0].back()).node);
    unbroken[0] = static_cast<int64_t>(i) + 1;
    bool all = true;
    const int64_t blocks = unbroken[0];
    for (size_t c = 0; c < classes_.size(); ++c) {
      if (c > 0) {
        known[c].push_back(block_at(c, nodes.back()));
        unbroken[c] = known[c].back() < 0 ? 0 : unbroken[c] + 1;
      }
      all = all &&
            unbroken[c] >= blocks - classes_[c].first_block(blocks * page_tokens_, page_tokens_);
    }
    if (all) prefix.blocks = blocks;
  }
  prefix.node = nodes[static_cast<size_t>(prefix.blocks)];
  for (size_t c = 0; c < classes_.size(); ++c) {
    BlockRun& run = prefix.runs.emplace_back();
    run.first = classes_[c].first_block(prefix.blocks * page_tokens_, page_tokens_);
    run.blocks.assign(known[c].begin() + run.first, known[c].begin() + prefix.blocks);
  }
  return prefix;
}

int32_t PageCache::count(std::span<const BlockRun> runs, int32_t holders) const {
  int32_t pages = 0;
  for (const BlockRun& run : runs) {
    for (const int32_t block : run.blocks) {
      if (at(block).holders == holders) pages += pages_each(block);
    }
  }
  return pages;
}

int32_t PageCache::count_idle(std::span<const BlockRun> runs) const {
  return count(runs, 0);
}

int32_t PageCache::count_held_once(std::span<const BlockRun> runs) const {
  return count(runs, 1);
}

void PageCache::hold(std::span<const BlockRun> runs) {
  for (const BlockRun& run : runs) {
    for (const int32_t block : run.blocks) {
      DURE_CHECK(at(block).known);
      if (at(block).holders++ == 0) stop_resting(block);
    }
  }
}

std::vector<int32_t> PageCache::allocate(size_t of_class, int64_t count) {
  const int32_t each = classes_[of_class].tables;
  DURE_CHECK(count >= 0 && count * each <= available());
  std::vector<int32_t> blocks;
  blocks.reserve(static_cast<size_t>(count));
  while (static_cast<int64_t>(blocks.size()) < count) {
    while (static_cast<int32_t>(free_.size()) < each) take_from_rest(longest_resting_);
    int32_t next = -1;
    for (int32_t i = 0; i < each; ++i) {
      const int32_t page = free_.back();
      free_.pop_back();
      at(page).next = next;
      next = page;
    }
    at(next).holders = 1;
    at(next).of_class = static_cast<int32_t>(of_class);
    blocks.push_back(next);
  }
  return blocks;
}

// Last block first, so that the end of a prefix is taken for others before its beginning: what is
// left can still be found.
void PageCache::release(std::span<const int32_t> blocks) {
  for (size_t i = blocks.size(); i-- > 0;) {
    const int32_t block = blocks[i];
    DURE_CHECK(block >= 0 && block < total() && at(block).holders > 0);
    if (--at(block).holders > 0) continue;
    if (at(block).known) {
      rest(block);
    } else {
      free_pages(block);
    }
  }
}

PageCache::Node PageCache::publish(const PageKeys& keys, std::span<const int32_t> tokens,
                                   size_t index, Node after, std::span<const int32_t> blocks) {
  bool taken = false;
  const int32_t same = look_up(keys, tokens, index, after, &taken);
  if (same < 0 && taken && !make_way(keys.hashes[index])) return nowhere;
  if (same < 0) {
    Page& made = at(blocks[0]);
    DURE_CHECK(made.holders > 0 && !made.known);
    made.known = true;
    made.hash = keys.hashes[index];
    made.node = next_node_++;
    made.after = after;
    if (index == 0) made.root_name = keys.root;
    const auto content = tokens_of_block(tokens, index);
    made.tokens.assign(content.begin(), content.end());
    by_hash_.emplace(made.hash, blocks[0]);
  }
  const Node node = at(same < 0 ? blocks[0] : same).node;
  for (size_t c = 1; c < classes_.size(); ++c) {
    Page& made = at(blocks[c]);
    if (!at_node_[c - 1].emplace(node, blocks[c]).second) continue;
    DURE_CHECK(made.holders > 0 && !made.known);
    made.known = true;
    made.node = node;
  }
  return node;
}

// What follows a beginning that was taken for others is never found again; it must not keep whoever
// computes the same anew from being found.
bool PageCache::make_way(uint64_t hash) {
  const int32_t block = by_hash_.at(hash);
  if (at(block).holders > 0) return false;
  take_from_rest(block);
  return true;
}

void PageCache::forget_all() {
  DURE_CHECK(held() == 0);
  while (longest_resting_ >= 0) take_from_rest(longest_resting_);
}

void PageCache::take_from_rest(int32_t block) {
  stop_resting(block);
  forget(block);
  free_pages(block);
}

void PageCache::rest(int32_t block) {
  at(block).earlier = last_rested_;
  at(block).later = -1;
  (last_rested_ >= 0 ? at(last_rested_).later : longest_resting_) = block;
  last_rested_ = block;
  idle_ += pages_each(block);
}

void PageCache::stop_resting(int32_t block) {
  const int32_t earlier = at(block).earlier;
  const int32_t later = at(block).later;
  (earlier >= 0 ? at(earlier).later : longest_resting_) = later;
  (later >= 0 ? at(later).earlier : last_rested_) = earlier;
  idle_ -= pages_each(block);
}

void PageCache::forget(int32_t block) {
  Page& page = at(block);
  page.known = false;
  if (page.of_class > 0) {
    at_node_[static_cast<size_t>(page.of_class) - 1].erase(page.node);
    return;
  }
  by_hash_.erase(page.hash);
  page.root_name.clear();
  page.tokens.clear();
}

// Its first page is the first to be used again.
void PageCache::free_pages(int32_t block) {
  const auto end = static_cast<std::ptrdiff_t>(free_.size());
  for (int32_t page = block; page >= 0; page = at(page).next) free_.push_back(page);
  std::reverse(free_.begin() + end, free_.end());
}

}  // namespace dure
