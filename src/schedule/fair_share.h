// Fairness between tenants by tokens served, not by requests: the virtual token counter of Sheng et
// al., "Fairness in Serving Large Language Models" (OSDI 2024). Whoever has been served least goes
// first; a tenant that comes back gets no credit for the time it was away.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

namespace dure {

class FairShare {
 public:
  struct Tenant {
    double served = 0.0;  // weighted tokens
    int64_t live = 0;     // its sequences that wait or run
  };

  // A sequence of that tenant comes; the tenant stays where it is until its last one leaves.
  Tenant& enter(const std::string& name);
  void leave(const std::string& name);

  // What a token of a prompt costs beside one that is produced: both in the paper's weights, which
  // are a public price list's.
  static constexpr double prompt_weight = 1.0;
  static constexpr double produced_weight = 2.0;

 private:
  void drop_those_without_debt();

  std::unordered_map<std::string, Tenant> tenants_;
  int64_t active_ = 0;  // tenants
};

}  // namespace dure
