// What an MPI_File is to the program and to us.
#pragma once

#include <cstdint>

#include "core/mpi/objects/constants.h"

namespace sesame::mpi {

// A handle is a pointer to the program; its value is our number, which fits an integer of Fortran.
inline int file_number(File handle) {
  return static_cast<int>(reinterpret_cast<uintptr_t>(handle));
}
inline File file_handle(int number) {
  return reinterpret_cast<File>(static_cast<uintptr_t>(static_cast<uint32_t>(number)));
}

}  // namespace sesame::mpi
