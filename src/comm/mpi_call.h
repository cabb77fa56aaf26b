// Turns MPI's return codes into errors.
#pragma once

namespace dure {

// Throws failed with MPI's own text unless the code is MPI_SUCCESS. `call` is the function's name.
void check_mpi(int code, const char* call);

}  // namespace dure
