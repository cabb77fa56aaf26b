// Merging: a scan for short pieces, a heap over a linked list for long ones.
#include "text/bpe.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>

#include "base/utf8.h"
#include "text/byte_alphabet.h"

namespace dure {
namespace {

constexpr uint32_t no_rank = UINT32_MAX;
constexpr int32_t gone = -2;
constexpr size_t short_piece = 48;  // symbols; above it the heap is faster

size_t hash_pair(int32_t left, int32_t right) {
  const uint64_t key = uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
  const uint64_t mixed = key * 0x9E3779B97F4A7C15u;
  return static_cast<size_t>(mixed ^ mixed >> 32);
}

}  // namespace

Bpe::Bpe(BpeSource source) : source_(std::move(source)) {
  index_bytes();
  merges_.resize(std::bit_ceil(2 * source_.merges.size() + 2));
  for (size_t i = 0; i < source_.merges.size(); ++i) {
    const auto [left, right] = source_.merges[i];
    insert_merge({left, right, static_cast<uint32_t>(i), source_.merged[i]});
  }
  source_.merges = {};
  source_.merged = {};
  whole_ = std::make_unique<std::atomic<Whole>[]>(source_.tokens.size());
}

void Bpe::index_bytes() {
  const size_t count = source_.tokens.size();
  bytes_.assign(source_.tokens.begin(), source_.tokens.end());
  by_bytes_ = StringIndex(count);
  std::vector<bool> reachable = source_.in_model;
  if (source_.byte_level) {
    size_t total = 0;
    for (const std::string_view token : source_.tokens) total += token.size();
    byte_arena_.reserve(total);  // views into it must not move
    for (size_t id = 0; id < count; ++id) {
      const auto bytes = bytes_of_stand_ins(source_.tokens[id]);
      if (!bytes) {  // such as <｜User｜>: it stands for itself
        reachable[id] = false;
        continue;
      }
      const size_t begin = byte_arena_.size();
      byte_arena_ += *bytes;
      bytes_[id] = std::string_view(byte_arena_).substr(begin);
    }
  }
  for (size_t id = 0; id < count; ++id) {
    if (bytes_[id].empty() || !reachable[id]) continue;
    by_bytes_.insert(bytes_[id], static_cast<int32_t>(id));
    longest_ = std::max(longest_, bytes_[id].size());
  }
  for (size_t byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    byte_ids_[byte] =
        by_bytes_.find(source_.byte_level ? std::string(1, c) : fmt::format("<0x{:02X}>", byte));
  }
  if (source_.byte_level) return;
  for (size_t id = 0; id < count; ++id) {
    const std::string_view token = bytes_[id];
    if (token.empty() || !source_.in_model[id]) continue;
    if (utf8::length(token.front()) != token.size()) continue;
    const char* p = token.data();
    const size_t code = utf8::next(p);
    if (code >= character_ids_.size()) character_ids_.resize(code + 1, -1);
    character_ids_[code] = static_cast<int32_t>(id);
  }
}

void Bpe::insert_merge(const Merge& merge) {
  const size_t mask = merges_.size() - 1;
  size_t at = hash_pair(merge.left, merge.right) & mask;
  while (merges_[at].left >= 0 &&
         (merges_[at].left != merge.left || merges_[at].right != merge.right))
    at = (at + 1) & mask;
  merges_[at] = merge;  // of a pair that is listed twice, the later rank counts
}

const Bpe::Merge* Bpe::find_merge(int32_t left, int32_t right) const {
  const size_t mask = merges_.size() - 1;
  for (size_t at = hash_pair(left, right) & mask;; at = (at + 1) & mask) {
    const Merge& merge = merges_[at];
    if (merge.left == left && merge.right == right) return &merge;
    if (merge.left < 0) return nullptr;
  }
}

void Bpe::encode(std::string_view piece, Scratch& scratch, std::vector<int32_t>& ids) const {
  int32_t whole = -1;
  if (piece.size() <= longest_) {
    whole = by_bytes_.find(piece);
    if (whole >= 0) {
      const auto state = source_.ignore_merges
                             ? Whole::yes
                             : whole_[static_cast<size_t>(whole)].load(std::memory_order_relaxed);
      if (state == Whole::yes) {
        ids.push_back(whole);
        return;
      }
      if (state == Whole::no) whole = -1;
    }
  }
  if (!begin_symbols(piece, scratch)) return;
  const size_t first = ids.size();
  merge_symbols(scratch, ids);
  if (whole >= 0) {
    const bool same = ids.size() == first + 1 && ids.back() == whole;
    whole_[static_cast<size_t>(whole)].store(same ? Whole::yes : Whole::no,
                                             std::memory_order_relaxed);
  }
}

// The piece as a list of symbols; false if nothing of it has a token.
bool Bpe::begin_symbols(std::string_view piece, Scratch& scratch) const {
  scratch.symbols.clear();
  // The id for unknown characters is written when the next known one comes, or a second unknown one
  // if they are not fused; characters that fall back to bytes do not count as known.
  bool after_unknown = false;
  const char* const end = piece.data() + piece.size();
  for (const char* p = piece.data(); p != end;) {
    const size_t size = source_.byte_level ? 1 : utf8::length(*p);
    append_character({p, size}, scratch, after_unknown);
    p += size;
  }
  if (after_unknown) scratch.symbols.push_back({source_.unknown, 0, 0, no_rank, 0});
  return !scratch.symbols.empty();
}

void Bpe::append_character(std::string_view character, Scratch& scratch,
                           bool& after_unknown) const {
  const auto put = [&scratch](int32_t id) { scratch.symbols.push_back({id, 0, 0, no_rank, 0}); };
  int32_t id = -1;
  if (source_.byte_level) {
    id = byte_ids_[static_cast<uint8_t>(character.front())];
  } else {
    const char* p = character.data();
    const size_t code = utf8::next(p);
    if (code < character_ids_.size()) id = character_ids_[code];
  }
  if (id >= 0) {
    if (after_unknown) put(source_.unknown);
    after_unknown = false;
    put(id);
    return;
  }
  const auto id_of_byte = [this](char c) { return byte_ids_[static_cast<uint8_t>(c)]; };
  if (source_.byte_fallback &&
      std::all_of(character.begin(), character.end(), [&](char c) { return id_of_byte(c) >= 0; })) {
    for (const char c : character) put(id_of_byte(c));
    return;
  }
  if (source_.unknown < 0) return;
  if (after_unknown && !source_.fuse_unknown) put(source_.unknown);
  after_unknown = true;
}

// Looks up the pair of `at` and the symbol `next` (-1: none) after it.
void Bpe::set_pair(std::vector<Scratch::Symbol>& symbols, size_t at, int32_t next) const {
  Scratch::Symbol& symbol = symbols[at];
  symbol.rank = no_rank;
  if (next < 0) return;
  if (const Merge* merge = find_merge(symbol.id, symbols[static_cast<size_t>(next)].id)) {
    symbol.rank = merge->rank;
    symbol.merged = merge->id;
  }
}

void Bpe::merge_symbols(Scratch& scratch, std::vector<int32_t>& ids) const {
  auto& symbols = scratch.symbols;
  const auto count = static_cast<int32_t>(symbols.size());
  for (int32_t i = 0; i < count; ++i) {
    symbols[static_cast<size_t>(i)].previous = i - 1;
    symbols[static_cast<size_t>(i)].next = i + 1 < count ? i + 1 : -1;
  }
  for (size_t i = 0; i < symbols.size(); ++i) set_pair(symbols, i, symbols[i].next);
  if (symbols.size() <= short_piece)
    merge_short(symbols);
  else
    merge_long(scratch);
  for (const Scratch::Symbol& symbol : symbols)
    if (symbol.next != gone) ids.push_back(symbol.id);
}

void Bpe::merge_short(std::vector<Scratch::Symbol>& symbols) const {
  for (;;) {
    uint32_t best = no_rank;
    size_t at = 0;
    for (size_t i = 0; i < symbols.size(); ++i) {
      if (symbols[i].rank < best) {
        best = symbols[i].rank;
        at = i;
      }
    }
    if (best == no_rank) return;
    symbols[at].id = symbols[at].merged;
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    const auto next = static_cast<int32_t>(at) + 1;
    set_pair(symbols, at, at + 1 < symbols.size() ? next : -1);
    if (at > 0) set_pair(symbols, at - 1, next - 1);
  }
}

void Bpe::merge_long(Scratch& scratch) const {
  auto& symbols = scratch.symbols;
  auto& heap = scratch.heap;  // rank << 32 | position, lowest on top; outdated ones are passed over
  heap.clear();
  const auto entry = [&symbols](size_t at) { return uint64_t{symbols[at].rank} << 32 | at; };
  for (size_t i = 0; i < symbols.size(); ++i)
    if (symbols[i].rank != no_rank) heap.push_back(entry(i));
  std::make_heap(heap.begin(), heap.end(), std::greater<>());
  while (!heap.empty()) {
    const uint64_t top = heap.front();
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    heap.pop_back();
    const size_t at = top & UINT32_MAX;
    Scratch::Symbol& symbol = symbols[at];
    if (symbol.next == gone || symbol.rank != top >> 32) continue;
    Scratch::Symbol& eaten = symbols[static_cast<size_t>(symbol.next)];
    symbol.id = symbol.merged;
    symbol.next = eaten.next;
    eaten.next = gone;
    if (symbol.next >= 0)
      symbols[static_cast<size_t>(symbol.next)].previous = static_cast<int32_t>(at);
    set_pair(symbols, at, symbol.next);
    if (symbol.rank != no_rank) {
      heap.push_back(entry(at));
      std::push_heap(heap.begin(), heap.end(), std::greater<>());
    }
    if (symbol.previous >= 0) {
      const auto before = static_cast<size_t>(symbol.previous);
      set_pair(symbols, before, symbols[before].next);
      if (symbols[before].rank != no_rank) {
        heap.push_back(entry(before));
        std::push_heap(heap.begin(), heap.end(), std::greater<>());
      }
    }
  }
}

}  // namespace dure
