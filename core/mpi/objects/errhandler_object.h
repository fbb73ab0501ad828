// ErrhandlerObject: what an error handler's handle refers to. Reference counted: the rank's tables
// and the objects to which it is attached hold references. errhandler.h finds and calls it.
#pragma once

#include <cstdint>

#include "core/mpi/objects/callbacks.h"
#include "core/mpi/objects/constants.h"
#include "core/mpi/objects/handle_table.h"

namespace sesame::mpi {

struct ErrhandlerObject : Counted {
  // kThrow: a function that throws, whatever the object.
  enum class Kind : uint8_t { kFatal, kAbort, kReturn, kThrow, kComm, kWin, kFile, kSession };
  Kind kind = Kind::kFatal;
  ProxiedFunction function;  // of the program, for the last five kinds
  Errhandler handle = MPI_ERRORS_ARE_FATAL;
  int user_references = 1;  // how often the program must still free the handle
};

}  // namespace sesame::mpi
