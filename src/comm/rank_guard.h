// Ranks never outlive those they work for: whatever kills mpirun or the front, by whatever signal,
// the ranks are gone within a second and hold no memory.
#pragma once

#include <thread>

#include "base/descriptor.h"

namespace dure {

// Every rank, first thing in main: the kernel kills this process when its parent (mpirun, or its
// daemon on this host) dies.
void die_with_parent();

// Rank 0: a thread that ends this process at once when the front closes its end of the socket,
// even while the rank computes or waits for a peer; mpirun then ends the other ranks. Destroy it
// before an orderly end.
class FrontWatch {
 public:
  explicit FrontWatch(int front_socket);  // borrowed
  ~FrontWatch();

 private:
  Descriptor stop_read_;
  Descriptor stop_write_;
  std::thread thread_;
};

}  // namespace dure
