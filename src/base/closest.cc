// See closest.h.
#include "base/closest.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace dure {
namespace {

constexpr size_t longest_compared = 100;  // bytes; the rest of a hostile name says nothing more

size_t edits(std::string_view a, std::string_view b) {
  a = a.substr(0, longest_compared);
  b = b.substr(0, longest_compared);
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::optional<std::string> closest(std::string_view name, const std::vector<std::string>& known) {
  std::optional<std::string> best;
  size_t fewest = std::numeric_limits<size_t>::max();
  for (const std::string& candidate : known) {
    const size_t count = edits(name, candidate);
    if (count < fewest) {
      fewest = count;
      best = candidate;
    }
  }
  return best;
}

}  // namespace dure
