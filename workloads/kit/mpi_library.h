// The MPI that a program runs with.
#ifndef WORKLOADS_KIT_MPI_LIBRARY_H_
#define WORKLOADS_KIT_MPI_LIBRARY_H_

#include <string>

namespace sesame::workload {

// Its name and version: the first line of what it says of itself.
std::string mpi_library();

bool in_simulator();

}  // namespace sesame::workload

#endif  // WORKLOADS_KIT_MPI_LIBRARY_H_
