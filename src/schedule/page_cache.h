// Who holds which page of one dp group's KV cache, and which pages hold prefixes that another
// sequence may share. Pages are numbered 0 .. total-1, all of one size; what is in them is the
// ranks' business. Not thread-safe.
//
// A page is free, held by one or more sequences, or idle: held by none, but its tokens are known,
// so that it can be found again until it is taken for others, the one that rests longest first.
// Known pages form a tree: a page's place is its tokens after those of another page. Only whole
// pages become known, and these are never written again, so sharing needs no copies.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "schedule/page_keys.h"

namespace dure {

class PageCache {
 public:
  // A place in the tree.
  using Node = uint64_t;
  static constexpr Node root = 0;
  static constexpr Node nowhere = ~Node{0};

  struct Prefix {
    std::vector<int32_t> pages;
    Node node = root;  // after the last of them
  };

  PageCache(int32_t pages, int32_t page_tokens);

  int32_t total() const { return static_cast<int32_t>(pages_.size()); }
  int32_t available() const { return static_cast<int32_t>(free_.size()) + idle_; }
  int32_t idle() const { return idle_; }
  int32_t held() const { return total() - available(); }

  // The longest run of known pages, `most` at most, that holds the beginning of `tokens`. Changes
  // nothing: hold() the pages before anything else is asked of the cache.
  Prefix find(const PageKeys& keys, std::span<const int32_t> tokens, size_t most) const;
  // How many of these would leave available() when held.
  int32_t count_idle(std::span<const int32_t> pages) const;
  // Of these, how many would become available() when one holder lets go.
  int32_t count_held_once(std::span<const int32_t> pages) const;
  void hold(std::span<const int32_t> pages);

  // Pages that nobody holds, held once then. Asking for more than available() is a bug.
  std::vector<int32_t> allocate(int32_t count);

  // Lets go of a sequence's pages, first to last. Letting go of what is not held is a bug.
  void release(std::span<const int32_t> pages);

  // Makes known that a held page has, or will have once the steps sent so far are done, the
  // `index`-th page of these tokens, which comes after `after`. Returns its place: that of another
  // page where one has the same tokens there already, or nowhere if it cannot be told apart.
  Node publish(const PageKeys& keys, std::span<const int32_t> tokens, size_t index, Node after,
               int32_t page);

  // What the pages held is lost: all must have been released, and none is known then.
  void forget_all();

 private:
  struct Page {
    int32_t holders = 0;
    // Of known pages.
    bool known = false;
    uint64_t hash = 0;
    Node node = root;
    Node after = root;
    std::string root_name;  // of first pages
    std::vector<int32_t> tokens;
    // Of idle pages: neighbours in the order of resting, -1 at the ends.
    int32_t earlier = -1;
    int32_t later = -1;
  };

  Page& at(int32_t page) { return pages_[static_cast<size_t>(page)]; }
  const Page& at(int32_t page) const { return pages_[static_cast<size_t>(page)]; }
  // The page at that place with these tokens, or -1; `taken` if another has the hash.
  int32_t look_up(const PageKeys& keys, std::span<const int32_t> tokens, size_t index, Node after,
                  bool* taken = nullptr) const;
  std::span<const int32_t> tokens_of_page(std::span<const int32_t> tokens, size_t index) const;
  void rest(int32_t page);
  void stop_resting(int32_t page);
  void forget(int32_t page);

  const int32_t page_tokens_;
  std::vector<Page> pages_;
  std::vector<int32_t> free_;  // a stack: what was used last is still warm
  std::unordered_map<uint64_t, int32_t> by_hash_;
  int32_t longest_resting_ = -1;
  int32_t last_rested_ = -1;
  int32_t idle_ = 0;
  Node next_node_ = root + 1;
};

}  // namespace dure
