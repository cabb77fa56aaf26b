// See rank_places.h.
#include "protocol/rank_places.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "base/error.h"

namespace dure {
namespace {

std::filesystem::path path_in(const std::filesystem::path& folder) {
  return folder / "places";
}

size_t bytes_of(int ranks) {
  return static_cast<size_t>(ranks) * sizeof(RankSpot);
}

template <size_t n>
std::string_view text_of(const char (&chars)[n]) {
  return {chars, strnlen(chars, n)};
}

std::string layer_text(int32_t layer) {
  return layer < 0 ? "" : fmt::format(", layer {}", layer);
}

}  // namespace

RankPlaces RankPlaces::map(const Descriptor& file, int ranks) {
  void* at = mmap(nullptr, bytes_of(ranks), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (at == MAP_FAILED) {
    throw Error(ErrorCode::failed,
                fmt::format("cannot map the places of ranks: {}", std::strerror(errno)));
  }
  return {static_cast<RankSpot*>(at), ranks};
}

RankPlaces RankPlaces::make(const std::filesystem::path& folder, int ranks) {
  const std::filesystem::path path = path_in(folder);
  const Descriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  // Its blocks are taken now: a page that finds its file system full ends the process.
  const int reason =
      file ? posix_fallocate(file.get(), 0, static_cast<off_t>(bytes_of(ranks))) : errno;
  if (reason != 0) {
    throw Error(ErrorCode::failed,
                fmt::format("cannot make {}: {}", path.string(), std::strerror(reason)),
                "set TMPDIR to a folder that has room");
  }
  RankPlaces places = map(file, ranks);
  for (int rank = 0; rank < ranks; ++rank) new (&places.spot(rank)) RankSpot();
  return places;
}

std::optional<RankPlaces> RankPlaces::find(const std::filesystem::path& folder, int ranks) {
  const Descriptor file(open(path_in(folder).c_str(), O_RDWR | O_CLOEXEC));
  struct stat facts {};
  if (!file || fstat(file.get(), &facts) != 0 ||
      facts.st_size < static_cast<off_t>(bytes_of(ranks))) {
    return std::nullopt;
  }
  return map(file, ranks);
}

RankPlaces::RankPlaces(RankPlaces&& other) noexcept
    : spots_(std::exchange(other.spots_, nullptr)), ranks_(other.ranks_) {}

RankPlaces& RankPlaces::operator=(RankPlaces&& other) noexcept {
  std::swap(spots_, other.spots_);
  std::swap(ranks_, other.ranks_);
  return *this;
}

RankPlaces::~RankPlaces() {
  if (spots_ != nullptr) munmap(spots_, bytes_of(ranks_));
}

RankSpot& RankPlaces::spot(int rank) const {
  DURE_CHECK(rank >= 0 && rank < ranks_);
  return spots_[rank];
}

int RankPlaces::rank_of(pid_t pid) const {
  for (int rank = 0; rank < ranks_; ++rank) {
    if (spots_[rank].pid == pid) return rank;
  }
  return -1;
}

std::string RankPlaces::describe(int rank) const {
  if (rank < 0 || rank >= ranks_) return "";
  const RankSpot& spot = spots_[rank];
  const uint64_t step = spot.step;
  const std::string_view kind = text_of(spot.kind);
  switch (spot.does) {
    case RankDoes::starts:
      return "";
    case RankDoes::loads:
      return " while it loaded";
    case RankDoes::rests:
      return " between steps";
    case RankDoes::computes:
      if (kind.empty())
        return fmt::format(" at step {}, computing{}", step, layer_text(spot.layer));
      return fmt::format(" at step {}, computing{} after operation {} ({} of {})", step,
                         layer_text(spot.layer), spot.operation.load(), kind, text_of(spot.what));
    case RankDoes::waits:
      return fmt::format(" at step {}, waiting in operation {} ({} of {}{})", step,
                         spot.operation.load(), kind, text_of(spot.what), layer_text(spot.layer));
  }
  return "";
}

RankWhere RankPlaces::where(int rank) const {
  RankWhere where;
  if (rank < 0 || rank >= ranks_) return where;
  const RankSpot& spot = spots_[rank];
  if (spot.does != RankDoes::computes && spot.does != RankDoes::waits) return where;
  where.step = static_cast<int64_t>(spot.step.load());
  where.layer = spot.layer;
  const std::string_view kind = text_of(spot.kind);
  if (!kind.empty()) where.operation = fmt::format("{} of {}", kind, text_of(spot.what));
  return where;
}

std::string RankPlaces::describe_waiting() const {
  for (int rank = 0; rank < ranks_; ++rank) {
    if (spots_[rank].does == RankDoes::waits) {
      return fmt::format("; rank {} was{}", rank, describe(rank));
    }
  }
  return "";
}

}  // namespace dure
