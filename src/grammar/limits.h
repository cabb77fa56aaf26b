// What a grammar may cost. Every input is answered or refused within these: text and automaton
// bound the compiler (well under 1 s and 64 MB), the rest bounds each token of each request.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dure::grammar {

constexpr size_t max_regex_bytes = size_t{64} << 10;
constexpr size_t max_ebnf_bytes = size_t{256} << 10;
constexpr size_t max_schema_bytes = size_t{512} << 10;
constexpr size_t max_choice_bytes = size_t{1} << 20;
constexpr int max_nesting = 200;           // groups in a pattern, levels of a schema
constexpr uint32_t max_count = 1'000'000;  // in {m,n}, minLength, maxItems …

constexpr size_t max_states = 300'000;
constexpr size_t max_arcs = 1'000'000;  // of all kinds together
constexpr size_t max_rules = 50'000;

// How many levels deeper than the grammar needs at least a document may nest.
constexpr uint32_t spare_depth = 256;

// Of one matcher, at rest. Where an ambiguous grammar has more parses than these at once, only the
// first are followed: what is produced is still right, but some of its ways to go on are lost.
constexpr size_t max_configs = 4096;
constexpr size_t max_frames = 2048;

// Steps of one byte, and of one mask (a node of the trie visited is one unit; some 50 ms in all).
constexpr size_t max_visits_per_byte = 1 << 16;
constexpr uint64_t max_mask_work = 5'000'000;

// Caches of one grammar over one vocabulary.
constexpr size_t mask_cache_bytes = size_t{16} << 20;
constexpr size_t lazy_dfa_bytes = size_t{8} << 20;

}  // namespace dure::grammar
