// SessionObject, what an MPI_Session refers to: a handle of the library with its own error handler.
// Process sets are "mpi://WORLD" and "mpi://SELF". Reference counted; the rank's table owns one
// reference for each handle.
#pragma once

#include "core/mpi/objects/constants.h"
#include "core/mpi/objects/errhandler_object.h"
#include "core/mpi/objects/handle_table.h"
#include "core/mpi/objects/info_object.h"

namespace sesame::mpi {

struct SessionObject : Counted {
  Session handle = MPI_SESSION_NULL;
  ErrhandlerObject* errhandler = nullptr;  // null: MPI_ERRORS_ARE_FATAL
  InfoObject* info = nullptr;
  int thread_level = MPI_THREAD_SINGLE;

  SessionObject() = default;
  ~SessionObject() {
    release(errhandler);
    release(info);
  }
};

}  // namespace sesame::mpi
