// See capacity.h.
#include "layers/capacity.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace dure {

int64_t places_of_expert(double factor, int64_t rows, int64_t top_k, int64_t experts) {
  const double share = factor * static_cast<double>(rows) * static_cast<double>(top_k) /
                       static_cast<double>(experts);
  const double places = std::ceil(share * (1.0 - 1e-9));
  return places < static_cast<double>(rows) ? static_cast<int64_t>(places) : rows;
}

SlotCounts settle_slots(int64_t rows, int64_t top_k, int64_t experts, int64_t places, int32_t* ids,
                        float* weights, const NextBest& next_best) {
  std::vector<int64_t> taken(static_cast<size_t>(experts), 0);
  const auto has_room = [&](int32_t expert) { return taken[static_cast<size_t>(expert)] < places; };
  SlotCounts counts;
  for (int64_t row = 0; row < rows; ++row) {
    const std::span<int32_t> own(ids + row * top_k, static_cast<size_t>(top_k));
    for (size_t slot = 0; slot < own.size(); ++slot) {
      float& weight = weights[row * top_k + static_cast<int64_t>(slot)];
      if (!has_room(own[slot])) {
        RankedExpert to{dropped_slot, 0.0f};
        if (next_best) {
          const std::span<const RankedExpert> ranked = next_best(row);
          const auto found = std::find_if(ranked.begin(), ranked.end(), [&](RankedExpert each) {
            return has_room(each.expert) &&
                   std::find(own.begin(), own.end(), each.expert) == own.end();
          });
          if (found != ranked.end()) to = *found;
        }
        own[slot] = to.expert;
        weight = to.weight;
        ++(to.expert == dropped_slot ? counts.dropped : counts.moved);
      }
      if (own[slot] != dropped_slot) ++taken[static_cast<size_t>(own[slot])];
    }
  }
  return counts;
}

}  // namespace dure
