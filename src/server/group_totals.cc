// See group_totals.h. All groups of a server have one layout, so that the parts of their ranks
// agree.
#include "server/group_totals.h"

#include <algorithm>
#include <utility>

namespace dure {
namespace {

// Adds what has the same place, and takes the rest over.
template <class Item, class Add>
void add_each(std::vector<Item>& sum, const std::vector<Item>& more, const Add& add) {
  const size_t both = std::min(sum.size(), more.size());
  for (size_t i = 0; i < both; ++i) add(sum[i], more[i]);
  sum.insert(sum.end(), more.begin() + static_cast<std::ptrdiff_t>(both), more.end());
}

void add(RankStats& sum, const RankStats& more) {
  add_each(sum.ops, more.ops, [](OpTotals& to, const OpTotals& from) {
    to.sent_bytes += from.sent_bytes;
    to.wait_s += from.wait_s;
  });
  add_each(sum.parts, more.parts,
           [](PartSeconds& to, const PartSeconds& from) { to.seconds += from.seconds; });
  add_each(sum.experts, more.experts, [](ExpertLoad& to, const ExpertLoad& from) {
    add_each(to.tokens, from.tokens, [](int64_t& tokens, int64_t others) { tokens += others; });
  });
}

void add(GroupStats& sum, const GroupStats& more) {
  add_each(sum.ranks, more.ranks, [](RankStats& to, const RankStats& from) { add(to, from); });
  sum.dropped_slots += more.dropped_slots;
  sum.moved_slots += more.moved_slots;
}

}  // namespace

void GroupTotals::group_ended() {
  add(ended_, std::exchange(running_, {}));
}

GroupStats GroupTotals::sum() const {
  GroupStats sum = ended_;
  add(sum, running_);
  return sum;
}

}  // namespace dure
