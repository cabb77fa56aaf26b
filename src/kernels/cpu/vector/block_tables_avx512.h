// Blocks whose codes are of few levels, to bf16: a table of what each level of a group becomes,
// from which one instruction chooses for 32 codes. Include after block_lanes.h.
#pragma once

namespace dure {
namespace {

// 32 codes of 16 bits each, and the numbers that those below 32 stand for.
struct Codes32 {
  __m512i v;
};
struct Bf16Table {
  __m512i v;
};
inline Codes32 load_codes(const uint8_t* p) {  // 32 bytes
  return {_mm512_cvtepu8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)))};
}
inline Codes32 load_nibbles(const uint8_t* p) {  // 16 bytes: low halves, then high ones
  const __m256i both = _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  return {_mm512_inserti64x4(_mm512_castsi256_si512(_mm256_and_si256(both, _mm256_set1_epi16(15))),
                             _mm256_srli_epi16(both, 4), 1)};
}
inline Codes32 low_nibbles(Codes32 a) {
  return {_mm512_and_si512(a.v, _mm512_set1_epi16(15))};
}
inline Codes32 high_nibbles(Codes32 a) {
  return {_mm512_srli_epi16(a.v, 4)};
}
// Bit `bit` of each of b as the fifth bit of a.
inline Codes32 with_fifth(Codes32 a, Codes32 b, int bit) {
  const __m512i low = _mm512_srl_epi16(b.v, _mm_cvtsi32_si128(bit));
  const __m512i fifth = _mm512_slli_epi16(_mm512_and_si512(low, _mm512_set1_epi16(1)), 4);
  return {_mm512_or_si512(a.v, fifth)};
}
// The same of bit i of a word for code i.
inline Codes32 with_fifths(Codes32 a, uint32_t word) {
  return {_mm512_mask_add_epi16(a.v, word, a.v, _mm512_set1_epi16(16))};
}
template <class Out>
inline Bf16Table bf16_table(Lanes levels) {
  return {_mm512_castsi256_si512(Out::bits(levels))};
}
template <class Out>
inline Bf16Table bf16_table(Lanes first, Lanes last) {
  return {_mm512_inserti64x4(_mm512_castsi256_si512(Out::bits(first)), Out::bits(last), 1)};
}
inline void store_chosen(uint16_t* to, Bf16Table table, Codes32 codes) {
  _mm512_storeu_si512(to, _mm512_permutexvar_epi16(codes.v, table.v));
}

// Numbers rounded to bf16 as 16 bits each.
struct OutTable : OutBf16 {
  static __m256i bits(Lanes x) {
    return _mm512_cvtepi32_epi16(_mm512_srli_epi32(rounded_bits(x), 16));
  }
};

// What codes 0 .. 15 stand for in fp32, before they are scaled.
inline Lanes first_codes() {
  return to_lanes({_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)});
}
inline Lanes last_codes() {
  return first_codes() + all(16.0f);
}

struct TableQ4_0 : BlockQ4_0 {
  template <class Out>
  static void decode(const uint8_t* block, uint16_t* to) {
    const Lanes levels = (first_codes() - all(8.0f)) * all(half_at(block));
    store_chosen(to, bf16_table<Out>(levels), load_nibbles(block + 2));
  }
};
struct TableQ4_1 : BlockQ4_1 {
  template <class Out>
  static void decode(const uint8_t* block, uint16_t* to) {
    const Lanes levels = first_codes() * all(half_at(block)) + all(half_at(block + 2));
    store_chosen(to, bf16_table<Out>(levels), load_nibbles(block + 4));
  }
};
struct TableQ5_0 : BlockQ5_0 {
  template <class Out>
  static void decode(const uint8_t* block, uint16_t* to) {
    const Lanes scale = all(half_at(block));
    const auto level = [&](Lanes code) { return (code - all(16.0f)) * scale; };
    store_chosen(to, bf16_table<Out>(level(first_codes()), level(last_codes())),
                 with_fifths(load_nibbles(block + 6), word_at(block + 2)));
  }
};
struct TableQ5_1 : BlockQ5_1 {
  template <class Out>
  static void decode(const uint8_t* block, uint16_t* to) {
    const Lanes scale = all(half_at(block));
    const Lanes least = all(half_at(block + 2));
    store_chosen(to, bf16_table<Out>(first_codes() * scale + least, last_codes() * scale + least),
                 with_fifths(load_nibbles(block + 8), word_at(block + 4)));
  }
};
struct TableMxfp4 : BlockMxfp4 {
  template <class Out>
  static void decode(const uint8_t* block, uint16_t* to) {
    const Lanes levels = load(mxfp4_values) * mxfp4_power(block[0]);
    store_chosen(to, bf16_table<Out>(levels), load_nibbles(block + 1));
  }
};
struct TableIq4Nl : BlockIq4Nl {
  template <class Out>
  static void decode(const uint8_t* block, uint16_t* to) {
    store_chosen(to, bf16_table<Out>(load(iq4_values) * all(half_at(block))),
                 load_nibbles(block + 2));
  }
};
struct TableQ4_K : BlockQ4_K {
  template <class Out>
  static void decode(const uint8_t* block, uint16_t* to) {
    alignas(64) float own[16];
    load_minima(block, own);
    const Lanes codes = first_codes();
    for (int group = 0; group < 8; group += 2, to += 64) {
      const Codes32 both = load_codes(block + 16 + group * 16);
      const auto levels = [&](int of) { return all(own[of]) * codes - all(own[of + 8]); };
      store_chosen(to, bf16_table<Out>(levels(group)), low_nibbles(both));
      store_chosen(to + 32, bf16_table<Out>(levels(group + 1)), high_nibbles(both));
    }
  }
};
struct TableQ5_K : BlockQ5_K {
  template <class Out>
  static void decode(const uint8_t* block, uint16_t* to) {
    alignas(64) float own[16];
    load_minima(block, own);
    const Codes32 fifths = load_codes(block + 16);
    for (int group = 0; group < 8; ++group, to += 32) {
      const Codes32 both = load_codes(block + 48 + group / 2 * 32);
      const Lanes step = all(own[group]);
      const Lanes less = all(own[group + 8]);
      store_chosen(
          to, bf16_table<Out>(step * first_codes() - less, step * last_codes() - less),
          with_fifth(group % 2 == 0 ? low_nibbles(both) : high_nibbles(both), fifths, group));
    }
  }
};

// Of fp16 scales.
template <class Out>
constexpr void fill_table_decoders(BlockDecoder<uint16_t> (&table)[block_kinds]) {
  table[0] = decode<TableQ4_0, Out>;
  table[1] = decode<TableQ4_1, Out>;
  table[2] = decode<TableQ5_0, Out>;
  table[3] = decode<TableQ5_1, Out>;
  table[7] = decode<TableQ4_K, Out>;
  table[8] = decode<TableQ5_K, Out>;
  table[17] = decode<TableIq4Nl, Out>;
}

}  // namespace
}  // namespace dure
