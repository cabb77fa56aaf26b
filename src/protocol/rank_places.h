// Where each rank of a group is: a page in the group's folder into which ranks of this host write
// what they do, and which their owner reads when one of them is dead or stopped and cannot say it
// any more. Writing costs a few stores.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/descriptor.h"
#include "protocol/messages.h"

namespace dure {

enum class RankDoes : uint32_t {
  starts = 0,  // or is on another host
  loads,
  rests,  // between steps
  computes,
  waits,  // for peers, in an operation
};

// 128 bytes: no two ranks write to one cache line.
struct alignas(128) RankSpot {
  std::atomic<RankDoes> does{RankDoes::starts};
  std::atomic<int32_t> pid{0};
  std::atomic<uint64_t> step{0};
  std::atomic<uint64_t> operation{0};  // number within the step
  std::atomic<int32_t> layer{-1};      // of the model; -1: before or behind them
  char kind[24] = {};                  // of the operation: "all-reduce"
  char what[40] = {};                  // the caller's name for it
};
static_assert(sizeof(RankSpot) == 128);

class RankPlaces {
 public:
  // The owner makes the page. Throws failed naming the path.
  static RankPlaces make(const std::filesystem::path& folder, int ranks);
  // A rank finds it; nothing where the folder is not on this host.
  static std::optional<RankPlaces> find(const std::filesystem::path& folder, int ranks);
  RankPlaces(RankPlaces&& other) noexcept;
  RankPlaces& operator=(RankPlaces&& other) noexcept;
  ~RankPlaces();

  RankSpot& spot(int rank) const;
  // The rank of a process; -1 if it has not said so.
  int rank_of(pid_t pid) const;
  // " while it loaded", " between steps", " at step 7, computing in layer 3 after operation 12
  // (all-reduce of attention output)"; empty if it has written nothing.
  std::string describe(int rank) const;
  // The same for programs.
  RankWhere where(int rank) const;
  // "; rank 0 was at step 7, waiting in …": of the first that waits for its peers, if one does.
  std::string describe_waiting() const;

 private:
  RankPlaces(RankSpot* spots, int ranks) : spots_(spots), ranks_(ranks) {}
  static RankPlaces map(const Descriptor& file, int ranks);

  RankSpot* spots_ = nullptr;
  int ranks_ = 0;
};

}  // namespace dure
