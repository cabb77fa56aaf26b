// Bells of the ranks of one host: a rank that waits long sleeps, and whoever has mail for it wakes
// it. (MPI itself cannot wait without looking again and again.) Unix datagram sockets; no MPI here.
#pragma once

#include <chrono>
#include <filesystem>
#include <vector>

#include "base/descriptor.h"

namespace dure {

class Doorbell {
 public:
  // Binds <folder>/bell-<rank>, removed with the object. Throws failed with the path if that cannot
  // be.
  Doorbell(const std::filesystem::path& folder, int rank);
  ~Doorbell();
  Doorbell(const Doorbell&) = delete;
  Doorbell& operator=(const Doorbell&) = delete;

  // Gets ready to ring the bells of ranks 0 to ranks - 1 in the same folder, which must be bound by
  // now. False if one cannot be reached.
  bool connect(int ranks);

  // Wakes `rank` from its sleep or keeps it from the next one. Never waits; a bell whose rank is
  // gone stays silent.
  void ring(int rank);
  // Whether this rank's bell has rung since the last call.
  bool answer();
  // Until the bell rings, `descriptor` (if >= 0) is readable, or the time is up. Returns whether
  // the descriptor is; the bell is for answer() to ask.
  bool sleep(int descriptor, std::chrono::duration<double> at_most);

 private:
  std::filesystem::path folder_;
  int rank_;
  Descriptor bell_;
  // One socket each, for a full bell and a full socket of ours look the same to the sender.
  std::vector<Descriptor> ropes_;
};

}  // namespace dure
