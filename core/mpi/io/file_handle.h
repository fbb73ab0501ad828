// Conversion between MPI_File handles and the numbers of the handle table.
#pragma once

#include <cstdint>

#include "core/mpi/objects/constants.h"

namespace sesame::mpi {

// For the program a handle is a pointer. Its value is the number, which fits a Fortran INTEGER.
inline int file_number(File handle) {
  return static_cast<int>(reinterpret_cast<uintptr_t>(handle));
}
inline File file_handle(int number) {
  return reinterpret_cast<File>(static_cast<uintptr_t>(static_cast<uint32_t>(number)));
}

}  // namespace sesame::mpi
