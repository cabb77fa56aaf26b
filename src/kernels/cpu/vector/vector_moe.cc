// Router and combination of expert outputs of the vector backend.
#include "kernels/cpu/vector/vector_backend.h"

namespace dure {

void VectorBackend::route(const float* logits, const float* correction, int64_t rows,
                          const RouteShape& shape, int32_t* ids, float* weights) {
  route_scratch_.resize(static_cast<size_t>(pool_.threads()));
  for (RouteScratch& scratch : route_scratch_) scratch.fit(shape);
  const auto score = kernels_.route_scores[static_cast<size_t>(shape.score)];
  each_row_of_thread(rows, shape.experts * 4, [&](int64_t row, int thread) {
    RouteScratch& scratch = route_scratch_[static_cast<size_t>(thread)];
    const float* const in = logits + row * shape.experts;
    score(in, shape.experts, scratch.scores.data());
    choose_experts(in, correction, shape, scratch, ids + row * shape.top_k,
                   weights + row * shape.top_k);
  });
}

void VectorBackend::combine_experts(const float* partial, const int32_t* where,
                                    const float* weights, const float* bias, const int32_t* ids,
                                    int64_t rows, int64_t top_k, int64_t parts, int64_t width,
                                    float* out) {
  each_row(rows, top_k * parts * width, [&](int64_t row) {
    CombineRow call;
    call.partial = partial;
    call.where = where + row * top_k * parts;
    call.weights = weights + row * top_k;
    call.bias = bias;
    call.ids = bias == nullptr ? nullptr : ids + row * top_k;
    call.slots = top_k;
    call.parts = parts;
    call.width = width;
    call.out = out + row * width;
    kernels_.combine(call);
  });
}

}  // namespace dure
