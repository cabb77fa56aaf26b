// See descriptor_limit.h.
#include "group/descriptor_limit.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>

#include "base/error.h"

namespace dure {
namespace {

// Measured with Open MPI 4.1: mpirun starts 2 ranks with 36 descriptors, 8 with 64, 16 with 96.
constexpr rlim_t of_mpirun = 32;
constexpr rlim_t of_each_rank = 4;

}  // namespace

void ensure_descriptors_for(int ranks) {
  const rlim_t needed = of_mpirun + of_each_rank * static_cast<rlim_t>(ranks);
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed) return;
  const rlim_t allowed = limit.rlim_cur;
  // Not to the hard limit: programs that close all they might have open would take ages.
  limit.rlim_cur = needed;
  if (limit.rlim_max >= needed && setrlimit(RLIMIT_NOFILE, &limit) == 0) return;
  throw Error(
      ErrorCode::failed,
      fmt::format("a process may have {} files open here, but starting {} rank{} needs {}", allowed,
                  ranks, ranks == 1 ? "" : "s", needed),
      fmt::format("raise the limit of open files: `ulimit -n {}`", std::max<rlim_t>(1024, needed)));
}

}  // namespace dure
