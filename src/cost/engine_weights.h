// A rank's weights as a GPU engine holds them: Dure's list of tensors, in the engine's forms and in
// the blocks of its allocator.
#pragma once

#include <cstdint>

#include "cost/engine_profile.h"
#include "cost/memory.h"
#include "cost/weight_kinds.h"

namespace dure {

// Bytes of a block for a tensor of so many bytes: PyTorch rounds segments of large tensors up to
// 2 MiB, and splits off what is left where that is over 1 MiB.
int64_t allocated_bytes(int64_t bytes);

// With an image encoder, which is split over tp.
WeightKinds engine_weight_kinds(const MemoryModel& model, const EngineProfile& profile,
                                const Layout& layout, int rank, int64_t element_bytes);
int64_t engine_weights(const MemoryModel& model, const EngineProfile& profile, const Layout& layout,
                       int rank, int64_t element_bytes);  // the sum

}  // namespace dure
