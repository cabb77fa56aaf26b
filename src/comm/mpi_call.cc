// See mpi_call.h.
#include "comm/mpi_call.h"

#include <fmt/format.h>
#include <mpi.h>

#include <string>

#include "base/error.h"

namespace dure {

void check_mpi(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw Error(ErrorCode::failed,
              fmt::format("{}: {}", call, std::string(text, static_cast<size_t>(length))));
}

}  // namespace dure
