// See engine_cache.h.
#include "cost/engine_cache.h"

#include <algorithm>
#include <map>
#include <optional>

#include "cost/most_bytes.h"
#include "cost/state_shape.h"

namespace dure {
namespace {

int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

// Layers of one kind on a rank.
struct Kind {
  int64_t layers = 0;
  int64_t token_bytes = 0;  // of one layer
  int64_t state_bytes = 0;  // of one layer and sequence
  std::optional<int64_t> window;
};

// Of one layer. Sparse attention has forms of its own: the index key is fp8 with an fp32 scale for
// each 128 of it, and a latent vector of fp8 has such scales too while its rotated part stays bf16.
int64_t token_bytes_of(const AttentionSpec& attention, const Layout& layout, const RankShare& share,
                       int64_t element_bytes) {
  constexpr int64_t scaled = 128;
  const auto with_scales = [](int64_t elements) { return elements + elements / scaled * 4; };
  const auto* mla = std::get_if<MlaSpec>(&attention);
  if (mla == nullptr || !mla->indexer) {
    return cached_elements(attention, layout.tp, share.place.tp) * element_bytes;
  }
  const int64_t latent = element_bytes == 1 ? with_scales(mla->kv_rank) + 2 * mla->rope_dim
                                            : (mla->kv_rank + mla->rope_dim) * element_bytes;
  const IndexerSpec* own = mla->own_indexer();
  return latent + (own == nullptr ? 0 : with_scales(own->head_dim));
}

// Engines keep the inputs of convolutions and windows in the cache's type, recurrences in fp32.
int64_t state_bytes_of(const AttentionSpec& attention, const Layout& layout, const RankShare& share,
                       int64_t element_bytes) {
  const StateFloats floats = state_of(attention, layout.tp, share.place.tp);
  return floats.recurrence * 4 + (floats.convolution + floats.window) * element_bytes;
}

std::optional<int64_t> window_in(const AttentionSpec& attention) {
  if (const auto* compressed = std::get_if<CompressedSpec>(&attention)) return compressed->window;
  return window_of(attention);
}

std::vector<Kind> kinds_of(const ModelSpec& spec, const Layout& layout, const RankShare& share,
                           int64_t element_bytes) {
  std::vector<Kind> kinds;
  for (int64_t i = share.layers.begin; i < share.layers.end; ++i) {
    const AttentionSpec& attention = spec.layers[static_cast<size_t>(i)].attention;
    const Kind kind{1, token_bytes_of(attention, layout, share, element_bytes),
                    state_bytes_of(attention, layout, share, element_bytes), window_in(attention)};
    if (kind.token_bytes == 0 && kind.state_bytes == 0) continue;
    const auto same = std::find_if(kinds.begin(), kinds.end(), [&](const Kind& each) {
      return each.token_bytes == kind.token_bytes && each.state_bytes == kind.state_bytes &&
             each.window == kind.window;
    });
    if (same == kinds.end()) {
      kinds.push_back(kind);
    } else {
      ++same->layers;
    }
  }
  return kinds;
}

// Compressed attention's: its keys and its window are one layer's.
bool keeps_window_in_state(const Kind& kind) {
  return kind.window && kind.state_bytes > 0;
}

// Layers that cache all their tokens, of whatever width, lie in one table of pages.
CacheCapacity in_plain_pages(const std::vector<Kind>& kinds, const CacheQuestion& question,
                             int64_t page_tokens) {
  int64_t token = 0;
  for (const Kind& kind : kinds) token += kind.layers * kind.token_bytes;
  const int64_t pages = question.pool / (token * page_tokens);
  return {pages * page_tokens, static_cast<double>(pages) /
                                   static_cast<double>(ceil_div(question.max_len, page_tokens))};
}

// Pages of one size for layers of several kinds. A state is one page of its group, which is why
// pages hold as many tokens as make one as large.
CacheCapacity in_groups(const std::vector<Kind>& kinds, const EngineProfile& profile,
                        const CacheQuestion& question) {
  int64_t token = 0;  // bytes of a layer: the widest, where they differ
  int64_t state = 0;
  int64_t fewest = kinds[0].layers;
  int64_t most = 0;
  for (const Kind& kind : kinds) {
    token = std::max(token, kind.token_bytes);
    state = std::max(state, kind.state_bytes);
    fewest = std::min(fewest, kind.layers);
    most = std::max(most, kind.layers);
  }
  if (token == 0) return {};
  const int64_t unit = profile.page_tokens;
  const int64_t page_tokens = std::max(unit, ceil_div(ceil_div(state, token), unit) * unit);
  // Kinds of about as many layers are one group each.
  const int64_t group = most < fewest * 5 / 4 ? most : fewest;
  const int64_t pages = question.pool / (token * page_tokens * group);
  int64_t groups = 0;
  int64_t pages_of_longest = 0;
  for (const Kind& kind : kinds) {
    const int64_t of_kind = ceil_div(kind.layers, group);
    groups += of_kind;
    int64_t each = ceil_div(question.max_len, page_tokens);
    if (kind.window) {
      const int64_t reached = *kind.window - 1 + question.batch_tokens;
      each = std::min(each, ceil_div(std::min(question.max_len, reached), page_tokens) + 1);
    }
    pages_of_longest += of_kind * (kind.state_bytes > 0 ? 1 : each);
  }
  CacheCapacity capacity;
  capacity.sequences = static_cast<double>(pages) / static_cast<double>(pages_of_longest);
  capacity.tokens =
      profile.counts_by_longest
          ? static_cast<int64_t>(capacity.sequences * static_cast<double>(question.max_len))
          : pages / groups * page_tokens;
  return capacity;
}

// Two pools: of keys, and of windows or states.
CacheCapacity in_two_pools(const std::vector<Kind>& kinds, const CacheQuestion& question) {
  constexpr double windowed_share = 0.8;  // of the tokens
  constexpr double beside_compressed = 0.57;
  constexpr double state_share = 0.9;  // of the memory of keys
  double token = 0.0;
  double state = 0.0;
  for (const Kind& kind : kinds) {
    const auto bytes = static_cast<double>(kind.layers * kind.token_bytes);
    const auto kept = static_cast<double>(kind.layers * kind.state_bytes);
    if (keeps_window_in_state(kind)) {
      token += bytes + beside_compressed * kept / static_cast<double>(*kind.window);
    } else {
      token += kind.window ? windowed_share * bytes : bytes;
      state += kept;
    }
  }
  if (token == 0.0) return {};
  auto pool = static_cast<double>(question.pool);
  if (state > 0.0) pool /= 1.0 + state_share;
  const double tokens = pool / token;
  double sequences = tokens / static_cast<double>(question.max_len);
  if (state > 0.0) sequences = std::min(sequences, state_share * pool / state);
  return {static_cast<int64_t>(tokens), sequences};
}

}  // namespace

CacheCapacity cache_capacity(const ModelSpec& spec, const EngineProfile& profile,
                             const Layout& layout, const RankShare& share,
                             const CacheQuestion& question) {
  const std::vector<Kind> kinds = kinds_of(spec, layout, share, question.element_bytes);
  const bool compressed = std::any_of(kinds.begin(), kinds.end(), keeps_window_in_state);
  if (compressed && profile.engine != Engine::sglang) return {.known = false};
  if (kinds.empty() || question.pool <= 0) return {};
  const auto is_plain = [](const Kind& kind) { return !kind.window && kind.state_bytes == 0; };
  if (std::all_of(kinds.begin(), kinds.end(), is_plain)) {
    return in_plain_pages(kinds, question, profile.page_tokens);
  }
  return profile.engine == Engine::sglang ? in_two_pools(kinds, question)
                                          : in_groups(kinds, profile, question);
}

}  // namespace dure
