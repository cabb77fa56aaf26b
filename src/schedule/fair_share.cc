// See fair_share.h.
#include "schedule/fair_share.h"

#include <algorithm>
#include <limits>

#include "base/error.h"

namespace dure {
namespace {

constexpr size_t most_absent = 1024;  // tenants remembered without a sequence

}  // namespace

FairShare::Tenant& FairShare::enter(const std::string& name) {
  Tenant& tenant = tenants_[name];
  if (tenant.live++ > 0) return tenant;
  double least = std::numeric_limits<double>::infinity();
  for (const auto& [other, each] : tenants_) {
    if (each.live > 0 && &each != &tenant) least = std::min(least, each.served);
  }
  if (active_++ > 0) tenant.served = std::max(tenant.served, least);
  return tenant;
}

void FairShare::leave(const std::string& name) {
  const auto found = tenants_.find(name);
  DURE_CHECK(found != tenants_.end() && found->second.live > 0);
  if (--found->second.live > 0) return;
  --active_;
  if (active_ == 0) {
    tenants_.clear();  // nobody is behind anybody
  } else if (tenants_.size() > static_cast<size_t>(active_) + most_absent) {
    drop_those_without_debt();
  }
}

// A tenant that owes nothing comes back as a new one does.
void FairShare::drop_those_without_debt() {
  double least = std::numeric_limits<double>::infinity();
  for (const auto& [name, tenant] : tenants_) {
    if (tenant.live > 0) least = std::min(least, tenant.served);
  }
  const auto is_even = [&](const auto& entry) {
    return entry.second.live == 0 && entry.second.served <= least;
  };
  std::erase_if(tenants_, is_even);
  // Names are the clients' to make: debts are forgotten rather than kept without end.
  if (tenants_.size() > static_cast<size_t>(active_) + most_absent) {
    std::erase_if(tenants_, [](const auto& entry) { return entry.second.live == 0; });
  }
}

}  // namespace dure
