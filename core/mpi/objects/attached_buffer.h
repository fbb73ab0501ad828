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
  Count in_use = 0;        // space that was not free again when a send last asked
  Count unreleased = 0;    // of it: when it is free again is not known
  struct Release {
    SimTime time;
    Count bytes;
  };
  std::vector<Release> releases;        // known, and still counted in `in_use`; none if automatic
  SimTime last_release;                 // when the last message gave its space back
  Strand* waiter = nullptr;             // in MPI_Buffer_detach or _flush
  std::vector<RequestObject*> flushes;  // of MPI_Buffer_iflush; they complete when it is unused
};

}  // namespace sesame::mpi
