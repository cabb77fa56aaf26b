// How many token slots of a step one expert takes: a choice of who runs a model, not of its config.
// Switch Transformers (Fedus et al. 2021, arXiv:2101.03961, section 2.2) and GShard (Lepikhin et
// al. 2020, arXiv:2006.16668) bound experts so; released models are meant to run without.
#pragma once

#include <cstdint>

namespace dure {

// What becomes of a slot whose expert is full.
enum class ExpertOverflow : uint8_t {
  drop,  // the expert adds nothing to the token, whose other parts pass as ever
  next,  // the token's next best expert with room takes it; dropped if there is none
};

struct ExpertCapacity {
  double factor = 0.0;  // times an even share of the slots of a step and dp group; 0: no bound
  ExpertOverflow overflow = ExpertOverflow::drop;
  bool bounded() const { return factor > 0.0; }
  bool operator==(const ExpertCapacity&) const = default;
};

}  // namespace dure
