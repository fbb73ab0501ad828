// The space that a program has attached for buffered sends (MPI 4.1, section 3.6): to a
// communicator or to the rank, which own it. The memory at `address` is the program's.
#pragma once

#include "core/base/units.h"
#include "core/mpi/objects/constants.h"

namespace sesame::mpi {

struct Strand;

struct AttachedBuffer {
  void* address = nullptr;
  Count size = 0;
  bool automatic = false;  // MPI_BUFFER_AUTOMATIC: as large as need be
  Count in_use = 0;
  SimTime last_release;
  Strand* waiter = nullptr;  // in MPI_Buffer_detach or _flush
};

}  // namespace sesame::mpi
