// The fewest GPUs that hold the weights alone, as the field counts them on paper: parameters ×
// bytes ÷ memory as sold. And why that is no deployment: what such a number of GPUs leaves for the
// cache.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cost/fit.h"
#include "cost/weight_format.h"

namespace dure {

struct WeightFloor {
  WeightFormat format;
  int64_t parameters = 0;
  int64_t weight_bytes = 0;  // rounded up
  int64_t gpu_bytes = 0;     // of one GPU, as sold
  int64_t gpus = 0;
};

// All positive. Throws bad_input for more bytes than can be counted (2^60).
WeightFloor weight_floor(int64_t parameters, const WeightFormat& format, int64_t gpu_bytes);

// "1,000,000,000,000 × 2 bytes = 2 TB; ÷ 80 GB = 25", to be checked by hand.
std::string arithmetic_of(const WeightFloor& floor);

// The same in the formats that weights come in: 16, 8 and 4 bits.
std::vector<WeightFloor> floor_table(int64_t parameters, int64_t gpu_bytes);

// What `gpus` leave for the cache at best, if weights and cache could be divided evenly and nothing
// else were held but each rank's overhead; activations and what ranks exchange are left out. No
// layout holds more, so what is missing here is missing in every one.
struct AtBest {
  int64_t gpus = 0;
  int64_t usable_bytes = 0;        // of all: the engine's budget, less what each process takes
  int64_t free_after_weights = 0;  // below zero: not even the weights fit
  int64_t kv_tokens = 0;           // of what is free, or the engine's share of it
  int64_t sequences = 0;           // of `context` tokens each, with their windows and states
  int64_t context = 0;
};

// Memory, utilization, types and context are those of the question; its layout does not matter.
AtBest at_best(const MemoryModel& model, const FitQuestion& question, int64_t gpus);

}  // namespace dure
