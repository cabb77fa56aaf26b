// Which layouts a search looks at, where their ranks would sit, and which of them an engine or the
// nodes rule out before anything is computed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cluster/layout.h"
#include "cost/engine_profile.h"
#include "cost/weight_format.h"
#include "model/spec.h"

namespace dure {

bool has_experts(const ModelSpec& spec);

// Layouts of at most `gpus` ranks. Sizes are powers of two and divisors of `gpus`, and every number
// where `every_size` asks for it. Data parallelism inside a replica is for mixtures only: of a
// dense model it is what replicas are, without waiting for each other.
std::vector<Layout> candidate_layouts(const ModelSpec& spec, int gpus, bool every_size);

// How replicas of one layout lie on nodes. A replica never has unequal shares of nodes: it lies
// within one node, or on whole nodes with equally many ranks on each, and a tp group lies within
// one node or on whole ones.
struct Placement {
  int replicas = 0;
  int nodes_each = 1;
  int ranks_per_node = 1;
  int idle = 0;     // GPUs
  std::string why;  // where there are no replicas
};
Placement place(const Layout& layout, int gpus, int gpus_per_node);

// Why the engine, or the format's blocks, have no such split; nothing: they have.
std::optional<std::string> engine_refuses(const ModelSpec& spec, const Layout& layout,
                                          Engine engine,
                                          const std::optional<WeightFormat>& weights);

}  // namespace dure
