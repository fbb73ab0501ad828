// The MPI that a program runs with.
#ifndef WORKLOADS_KIT_MPI_LIBRARY_H_
#define WORKLOADS_KIT_MPI_LIBRARY_H_

#include <string>

namespace sesame::workload {

// Its name and version: the first line of MPI_Get_library_version.
std::string mpi_library();

// Whether the program runs in `sesame simulate`.
bool in_simulator();

}  // namespace sesame::workload

#endif  // WORKLOADS_KIT_MPI_LIBRARY_H_
