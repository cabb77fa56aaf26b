// A rank's weights: those that the keeper of this host kept from the rank's life before, if they
// are the right ones and unharmed; else read from the checkpoint, and given to the keeper.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/load_weights.h"
#include "engine/weight_identity.h"

namespace dure {

struct WeightRequest {
  const CheckpointReader& checkpoint;
  const std::vector<Resident>& residents;
  WeightOrigin origin;
  std::string keeper;  // its name (keeper/keeper_socket.h); empty: the weights end with the rank
  int threads = 1;
  // A line for the log: what was kept, and why it was not taken. From the calling thread.
  std::function<void(const std::string& line)> say;
};

struct ObtainedWeights {
  WeightPlan plan;
  std::unique_ptr<Segment> memory;
  bool kept = false;      // taken, not loaded
  uint64_t checksum = 0;  // of the memory; 0: nobody asked for it
};

// Adds to *bytes_read as it goes, the bytes of kept weights too. Throws what load_weights throws; a
// keeper that is gone, or memory that it should not have, costs a line and the time to load.
ObtainedWeights obtain_weights(const WeightRequest& request, std::atomic<int64_t>* bytes_read);

}  // namespace dure
