// Which token may come next, for one sequence under a grammar.
//
// Theory: the grammar is a recursive transition network over bytes (automaton.h). All parses of the
// bytes so far are followed side by side as states on top of stacks that share their tails
// (frames.h), which answers ambiguous and exponential patterns in bounded time. A mask is a walk
// through the tree of all tokens' bytes; as in XGrammar (Dong et al., 2024, arXiv:2411.15100) what
// does not depend on the stack is walked once per grammar and kept, and only the few tokens that
// leave the rule at hand are followed into the stack. Since it works on bytes, a token may end in
// the middle of a character.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "grammar/frames.h"
#include "grammar/grammar.h"
#include "grammar/token_trie.h"

namespace dure::grammar {

// A grammar over a vocabulary, with what all matchers of the two share. Safe from several threads.
class Constraint {
 public:
  Constraint(std::shared_ptr<const Grammar> grammar, std::shared_ptr<const TokenTrie> tokens);
  ~Constraint();
  Constraint(const Constraint&) = delete;
  Constraint& operator=(const Constraint&) = delete;

  const Grammar& grammar() const { return *grammar_; }
  const TokenTrie& tokens() const { return *tokens_; }

 private:
  friend class Matcher;
  struct Shared;

  std::shared_ptr<const Grammar> grammar_;
  std::shared_ptr<const TokenTrie> tokens_;
  std::unique_ptr<Shared> shared_;
};

// Below 100 kB whatever the grammar. Copies are independent. One thread at a time.
class Matcher {
 public:
  explicit Matcher(std::shared_ptr<const Constraint> constraint);

  // Takes the token if it may come next; else false, and nothing has changed. So with the second,
  // which counts `work` down, where that does not suffice: then it is 0 afterwards.
  bool accept(uint32_t token);
  bool accept(uint32_t token, uint64_t& work);
  bool accept_bytes(std::string_view bytes);

  // Sets the bit of every token that may come next and clears the others; bit i % 64 of word i
  // / 64. mask: tokens().mask_words() words. Ends of sequence are no part of it: see may_end. Where
  // no token has the bytes that the grammar needs next, no bit is set and may_end is false.
  void fill_mask(std::span<uint64_t> mask) const;
  // False where so much work does not suffice: then `work` is 0, and the mask of no use. One unit
  // takes some 10 ns. What has been asked for before mostly costs next to nothing.
  bool fill_mask(std::span<uint64_t> mask, uint64_t& work) const;

  bool may_end() const { return configs_.finished; }        // the answer is complete as it is
  bool must_end() const { return configs_.items.empty(); }  // and nothing can follow

  size_t bytes() const;  // of memory

 private:
  bool accept_bytes(std::string_view bytes, uint64_t& work);
  template <class Use>
  void search(std::span<uint64_t> mask, uint64_t work, const Use& use) const;

  std::shared_ptr<const Constraint> constraint_;
  Frames frames_;
  Configs configs_;
};

}  // namespace dure::grammar
