// What `dure fit` prints about the fewest GPUs that hold the weights alone: the arithmetic of a
// size, and what that number of GPUs leaves for the cache of a model.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "cluster/gpu.h"
#include "cost/floor.h"

namespace dure {

// One row for each format; `model` is the size as it was given ("1T").
std::string size_table(const std::string& model, const Gpu& gpu,
                       const std::vector<WeightFloor>& floors);
// The first of `floors` is the answer, all of them are its floor_table.
Json size_json(const std::string& model, const Gpu& gpu, const std::vector<WeightFloor>& floors);

// The floor and one and a half times and twice as many GPUs.
std::vector<AtBest> at_best_around(const MemoryModel& model, const FitQuestion& question,
                                   int64_t floor_gpus);
std::string at_best_table(const std::vector<AtBest>& rows, const FitQuestion& question);
Json at_best_json(const std::vector<AtBest>& rows);

}  // namespace dure
