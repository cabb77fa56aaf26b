// A model for tests of requests: its sizes, and neither tokenizer nor template. Only included by
// tests.
#pragma once

#include "server/served_model.h"

namespace dure {

inline ServedModel model_of_sizes() {
  ServedModel made;
  made.names = {"M"};
  made.context = 2048;
  made.longest_sequence = 4096;
  made.vocab = 2048;
  made.eos_ids = {2, 0};
  return made;
}

}  // namespace dure
