// nearest_that_fits of fit.h: layouts in rising number of ranks, the first that fits.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "cost/fit.h"

namespace dure {
namespace {

constexpr int most_ranks = 1024;
constexpr int widest_tp = 64;

bool has_experts(const ModelSpec& spec) {
  return std::any_of(spec.layers.begin(), spec.layers.end(), [](const LayerSpec& layer) {
    return std::holds_alternative<MoeFfn>(layer.ffn);
  });
}

bool is_allowed(const ModelSpec& spec, const Layout& layout) {
  try {
    check_layout_for(spec, layout);
  } catch (const Error&) {
    return false;
  }
  return true;
}

// How far a layout is from the one asked for: doublings and halvings of its sizes.
double distance(const Layout& a, const Layout& b) {
  const auto steps = [](int x, int y) { return std::abs(std::log2(static_cast<double>(x) / y)); };
  return steps(a.tp, b.tp) + steps(a.pp, b.pp) + steps(a.dp, b.dp) + steps(a.ep, b.ep);
}

std::vector<int> pipeline_sizes(int layers) {
  std::vector<int> sizes;
  for (int pp = 1; pp <= std::min(layers, most_ranks); pp = pp < 16 ? pp + 1 : pp * 2) {
    sizes.push_back(pp);
  }
  return sizes;
}

// At least as many ranks as asked for: fewer hold no more.
std::vector<Layout> candidates(const ModelSpec& spec, const Layout& asked) {
  const bool moe = has_experts(spec);
  std::vector<Layout> layouts;
  for (int tp = 1; tp <= widest_tp; tp *= 2) {
    for (int pp : pipeline_sizes(static_cast<int>(spec.layers.size()))) {
      for (int dp = 1; tp * pp * dp <= most_ranks; dp *= 2) {
        for (int ep = 1; ep <= (moe ? tp * dp : 1); ep *= 2) {
          const Layout layout{tp, pp, dp, ep};
          if (layout.world() >= asked.world()) layouts.push_back(layout);
        }
      }
    }
  }
  std::sort(layouts.begin(), layouts.end(), [&](const Layout& a, const Layout& b) {
    if (a.world() != b.world()) return a.world() < b.world();
    return distance(a, asked) < distance(b, asked);
  });
  return layouts;
}

}  // namespace

std::optional<FitAnswer> nearest_that_fits(const MemoryModel& model, const FitQuestion& question) {
  const int64_t least = model.all_weights();
  for (const Layout& layout : candidates(model.spec(), question.layout)) {
    const int memories = question.shared ? question.nodes_of(layout) : layout.world();
    // No split makes one copy of the weights smaller.
    // An engine's budget depends on the layout, and is less than all there is.
    const int64_t budget = question.engine ? question.memory_bytes : question.budget();
    if (budget <= 0 || least / memories > budget) continue;
    if (!is_allowed(model.spec(), layout)) continue;
    FitQuestion other = question;
    other.layout = layout;
    if (!ends_fit(model, other)) continue;
    FitAnswer answer = fit(model, other);
    if (answer.fits) return answer;
  }
  return std::nullopt;
}

}  // namespace dure
