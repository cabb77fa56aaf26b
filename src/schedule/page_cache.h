// Who holds which page of one dp group's KV cache, and which pages hold prefixes that another
// sequence may share. Pages are numbered 0 .. total-1, all of one size; what is in them is the
// ranks' business. Not thread-safe.
//
// A block is what a class of layers (page_class.h) keeps of page_tokens tokens: a page in each of
// its tables. A block is held by one or more sequences, or idle: held by none, but its tokens are
// known, so that it can be found again until its pages are taken for others, those of the block
// that rests longest first, whichever its class.
//
// Known blocks of the first class, which sees furthest, form a tree: a block's place is its tokens
// after those of another. Blocks of the other classes lie at these places. Only whole blocks become
// known, and these are never written again, so sharing needs no copies.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "schedule/page_class.h"
#include "schedule/page_keys.h"

namespace dure {

// Blocks of one class that follow each other. A block's number is that of its first page.
struct BlockRun {
  int64_t first = 0;  // how many come before them in the sequence
  std::vector<int32_t> blocks;
  int64_t end() const { return first + static_cast<int64_t>(blocks.size()); }
};

class PageCache {
 public:
  // A place in the tree.
  using Node = uint64_t;
  static constexpr Node root = 0;
  static constexpr Node nowhere = ~Node{0};

  // A known beginning of a sequence.
  struct Prefix {
    int64_t blocks = 0;
    std::vector<BlockRun> runs;  // of each class, those that queries after the beginning see
    Node node = root;            // after the last of them
  };

  PageCache(int32_t pages, int32_t page_tokens, std::vector<PageClass> classes = {PageClass{}});

  // In pages.
  int32_t total() const { return static_cast<int32_t>(pages_.size()); }
  int32_t available() const { return static_cast<int32_t>(free_.size()) + idle_; }
  int32_t idle() const { return idle_; }
  int32_t held() const { return total() - available(); }

  // The longest known beginning of `tokens`, `most` blocks at most. Changes nothing: hold() its
  // blocks before anything else is asked of the cache.
  Prefix find(const PageKeys& keys, std::span<const int32_t> tokens, size_t most) const;
  // How many pages of these would leave available() when held.
  int32_t count_idle(std::span<const BlockRun> runs) const;
  // How many of these would become available() when one holder lets go.
  int32_t count_held_once(std::span<const BlockRun> runs) const;
  void hold(std::span<const BlockRun> runs);

  // Blocks of a class that nobody holds, held once then. Asking for more pages than available() is
  // a bug.
  std::vector<int32_t> allocate(size_t of_class, int64_t blocks);

  // The pages of a block, one of each table of its class.
  template <typename Visit>
  void each_page(int32_t block, Visit visit) const {
    for (int32_t page = block; page >= 0; page = at(page).next) visit(page);
  }

  // Lets go of blocks of one sequence and class, first to last. Letting go of what is not held is a
  // bug.
  void release(std::span<const int32_t> blocks);

  // Makes known that held blocks, one of each class, have, or will have once the steps sent so far
  // are done, the `index`-th page_tokens of these tokens, which come after `after`. Returns their
  // place: that of other blocks where these have the same tokens there already, or nowhere if it
  // cannot be told apart.
  Node publish(const PageKeys& keys, std::span<const int32_t> tokens, size_t index, Node after,
               std::span<const int32_t> blocks);

  // What the pages held is lost: all must have been released, and none is known then.
  void forget_all();

 private:
  // A page; but for `next`, what is told of a block stands with its first page.
  struct Page {
    int32_t next = -1;  // of the same block
    int32_t holders = 0;
    int32_t of_class = 0;
    // Of known blocks.
    bool known = false;
    Node node = root;
    // Of known blocks of the first class.
    uint64_t hash = 0;
    Node after = root;
    std::string root_name;  // of the first
    std::vector<int32_t> tokens;
    // Of idle blocks: neighbours in the order of resting, -1 at the ends.
    int32_t earlier = -1;
    int32_t later = -1;
  };

  Page& at(int32_t page) { return pages_[static_cast<size_t>(page)]; }
  const Page& at(int32_t page) const { return pages_[static_cast<size_t>(page)]; }
  int32_t pages_each(int32_t block) const {
    return classes_[static_cast<size_t>(at(block).of_class)].tables;
  }
  // The block at that place with these tokens, or -1; `taken` if another has the hash.
  int32_t look_up(const PageKeys& keys, std::span<const int32_t> tokens, size_t index, Node after,
                  bool* taken = nullptr) const;
  std::span<const int32_t> tokens_of_block(std::span<const int32_t> tokens, size_t index) const;
  // The block of that class at a place, or -1.
  int32_t block_at(size_t of_class, Node node) const;
  int32_t count(std::span<const BlockRun> runs, int32_t holders) const;
  bool make_way(uint64_t hash);
  void rest(int32_t block);
  void stop_resting(int32_t block);
  void take_from_rest(int32_t block);
  void forget(int32_t block);
  void free_pages(int32_t block);

  const int32_t page_tokens_;
  const std::vector<PageClass> classes_;
  std::vector<Page> pages_;
  std::vector<int32_t> free_;                      // a stack: what was used last is still warm
  std::unordered_map<uint64_t, int32_t> by_hash_;  // blocks of the first class
  std::vector<std::unordered_map<Node, int32_t>> at_node_;  // [class - 1]: of the others
  int32_t longest_resting_ = -1;
  int32_t last_rested_ = -1;
  int32_t idle_ = 0;
  Node next_node_ = root + 1;
};

}  // namespace dure
