// The limit of open files that starting a group needs: without it mpirun fails in many ways, some
// of them silent.
#pragma once

namespace dure {

// Raises this process's soft limit, which mpirun inherits, if it is too low for `ranks` processes
// on this machine. Throws failed with both numbers where the hard limit is too low as well.
void ensure_descriptors_for(int ranks);

}  // namespace dure
