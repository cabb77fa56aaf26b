// Byte-pair merging of one piece of text: the adjacent pair with the lowest rank is merged first,
// the leftmost of equals, until no pair has a rank. Near-linear in the piece, whatever the piece.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/string_index.h"

namespace dure {

// What tokenizer.json says of the model, checked.
struct BpeSource {
  std::vector<std::string_view> tokens;  // [id] as written in the file; "" if there is none
  std::vector<bool> in_model;            // [id] false for added tokens, which merging never gives
  std::vector<std::pair<int32_t, int32_t>> merges;  // in order of rank
  std::vector<int32_t> merged;                      // [merge] the id that the pair becomes
  bool byte_level = false;     // tokens are written in stand-in characters, one per byte
  bool byte_fallback = false;  // characters without a token become their bytes <0x..>
  bool ignore_merges = false;  // a piece that is a token as a whole is taken as it is
  bool fuse_unknown = false;
  int32_t unknown = -1;  // the id for what has no token, -1: it is left out
};

class Bpe {
 public:
  // Memory that encode reuses from piece to piece; one per thread.
  struct Scratch {
    struct Symbol {
      int32_t id;
      int32_t previous, next;  // symbols beside it; next is `gone` once merged away
      uint32_t rank;           // of the pair with the next one
      int32_t merged;          // what that pair becomes
    };
    std::vector<Symbol> symbols;
    std::vector<uint64_t> heap;
  };

  explicit Bpe(BpeSource source);

  // Appends the ids of one piece: UTF-8 text, byte-level or not. Safe from several threads.
  void encode(std::string_view piece, Scratch& scratch, std::vector<int32_t>& ids) const;

  // The bytes a token stands for; for models that are not byte-level, the token as written.
  std::string_view bytes_of(int32_t id) const { return bytes_[static_cast<size_t>(id)]; }

 private:
  struct Merge {
    int32_t left = -1, right = -1;  // left -1: a free slot
    uint32_t rank = 0;
    int32_t id = 0;
  };
  enum class Whole : uint8_t { unknown, yes, no };

  const Merge* find_merge(int32_t left, int32_t right) const;
  void insert_merge(const Merge& merge);
  void index_bytes();
  bool begin_symbols(std::string_view piece, Scratch& scratch) const;
  void append_character(std::string_view character, Scratch& scratch, bool& after_unknown) const;
  void merge_symbols(Scratch& scratch, std::vector<int32_t>& ids) const;
  void merge_short(std::vector<Scratch::Symbol>& symbols) const;
  void merge_long(Scratch& scratch) const;
  void set_pair(std::vector<Scratch::Symbol>& symbols, size_t at, int32_t next) const;

  BpeSource source_;
  std::string byte_arena_;
  std::vector<std::string_view> bytes_;  // [id]
  StringIndex by_bytes_;
  size_t longest_ = 0;                   // bytes of the longest token
  std::array<int32_t, 256> byte_ids_{};  // byte-level: the token of one byte; else that of <0x..>
  std::vector<int32_t> character_ids_;   // [code point] not byte-level: its token, or -1
  std::vector<Merge> merges_;            // open addressing, a power of two
  // [id] whether merging the token's own bytes gives the token back; found out when first asked,
  // the same by every thread.
  std::unique_ptr<std::atomic<Whole>[]> whole_;
};

}  // namespace dure
