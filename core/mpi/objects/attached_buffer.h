// The buffer that a program attached for buffered sends (MPI 4.1, section 3.6) to a communicator or
// to the rank, which owns this object. The memory at `address` is the program's and is never
// written. Sizes are bytes, times are simulated.
#pragma once

#include <vector>

#include "core/base/units.h"
#include "core/mpi/objects/constants.h"

namespace sesame::mpi {

struct RequestObject;
struct Strand;

struct AttachedBuffer {
  void* address = nullptr;
  Count size = 0;
  bool automatic = false;  // MPI_BUFFER_AUTOMATIC: never full
  Count in_use = 0;
  SimTime last_release;                 // when the last message was received
  Strand* waiter = nullptr;             // in MPI_Buffer_detach or _flush
  std::vector<RequestObject*> flushes;  // of MPI_Buffer_iflush; they complete when it is unused
};

}  // namespace sesame::mpi
