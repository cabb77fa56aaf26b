// How the layers of a model share the pages of a cache. All pages are of one size in bytes, that of
// a page of the tokens' keys and values in so many layers. Layers whose queries see equally far
// back are a class; they are dealt over one or more tables, each with a page of its own for every
// block of page_tokens tokens, so that a page can be used by any table. What no query of a class
// can see any more is given back.
#pragma once

#include <cstdint>
#include <span>

namespace dure {

struct PageClass {
  int64_t reach = 0;   // tokens that a query sees, its own included; 0: all
  int32_t tables = 1;  // pages that a block of tokens takes

  // The first block that queries from `position` on see.
  int64_t first_block(int64_t position, int64_t page_tokens) const;
  // That a sequence of any length needs at once, when no step has more than `chunk` tokens of it.
  int64_t most_blocks(int64_t page_tokens, int64_t chunk) const;

  friend bool operator==(const PageClass&, const PageClass&) = default;
};

// That a sequence of so many tokens holds at most at once.
int64_t pages_of_sequence(std::span<const PageClass> classes, int64_t tokens, int64_t page_tokens,
                          int64_t chunk);

// Tokens of the longest sequence that so many pages hold. Below 2^31.
int64_t longest_held(std::span<const PageClass> classes, int64_t pages, int64_t page_tokens,
                     int64_t chunk);

}  // namespace dure
