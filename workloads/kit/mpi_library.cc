#include "kit/mpi_library.h"

#include <mpi.h>

#include <algorithm>

namespace sesame::workload {

std::string mpi_library() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;  // Open MPI counts the null at the end
  MPI_Get_library_version(text, &length);
  std::string line(text);
  line.erase(std::min(line.find('\n'), line.size()));
  std::replace(line.begin(), line.end(), '\t', ' ');
  return line;
}

bool in_simulator() { return mpi_library().starts_with("Sesame"); }

}  // namespace sesame::workload
