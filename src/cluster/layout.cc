// See layout.h.
#include "cluster/layout.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace dure {

std::string to_string(const Layout& layout) {
  return fmt::format("tp {} × pp {} × dp {}, ep {}", layout.tp, layout.pp, layout.dp, layout.ep);
}

void check_layout(const Layout& layout) {
  const std::pair<const char*, int> sizes[] = {
      {"--tp", layout.tp}, {"--pp", layout.pp}, {"--dp", layout.dp}, {"--ep", layout.ep}};
  for (const auto& [flag, size] : sizes) {
    if (size < 1 || size > 4096) {
      throw_bad_input(fmt::format("{} {}: a layout size is between 1 and 4096", flag, size),
                      "world size = tp × pp × dp; 1 leaves a dimension unsplit");
    }
  }
  if (int64_t{layout.tp} * layout.pp * layout.dp > 65536) {
    throw_bad_input(fmt::format("{}: more than 65536 ranks", to_string(layout)),
                    "world size = tp × pp × dp: make one of them smaller");
  }
  if (layout.stage_ranks() % layout.ep != 0) {
    throw_bad_input(
        fmt::format("--ep {} does not divide tp × dp = {}", layout.ep, layout.stage_ranks()),
        "ep × (ranks per expert) = tp × dp: choose an ep that divides it");
  }
}

RankPlace place_of(const Layout& layout, int rank) {
  RankPlace place;
  place.rank = rank;
  place.stage = rank / layout.stage_ranks();
  const int in_stage = rank % layout.stage_ranks();
  place.dp = in_stage / layout.tp;
  place.tp = in_stage % layout.tp;
  place.ep = in_stage / layout.etp();
  place.etp = in_stage % layout.etp();
  return place;
}

int rank_of(const Layout& layout, int stage, int dp, int tp) {
  return stage * layout.stage_ranks() + dp * layout.tp + tp;
}

Range cut_by_floor(int64_t n, int64_t parts, int64_t index) {
  return {n * index / parts, n * (index + 1) / parts};
}

Range cut_front_heavy(int64_t n, int64_t parts, int64_t index) {
  const int64_t each = n / parts;
  const int64_t longer = n % parts;
  const int64_t begin = each * index + std::min(index, longer);
  return {begin, begin + each + (index < longer ? 1 : 0)};
}

}  // namespace dure
