// MPI sessions: a handle of the library with its own error handler. Process sets are "mpi://WORLD"
// and "mpi://SELF". Reference counted; the rank's table owns one reference for each handle.
#pragma once

#include "core/mpi/objects/constants.h"
#include "core/mpi/objects/handle_table.h"

namespace sesame::mpi {

struct ErrhandlerObject;
struct InfoObject;

struct SessionObject : Counted {
  Session handle = MPI_SESSION_NULL;
  ErrhandlerObject* errhandler = nullptr;  // null: MPI_ERRORS_ARE_FATAL
  InfoObject* info = nullptr;
  int thread_level = MPI_THREAD_SINGLE;

  SessionObject() = default;
  ~SessionObject();
};

int check_session(Session handle, SessionObject** session);

// Applies the session's error handler; see raise_error().
[[gnu::cold]] int raise_session_error(Session session, int error, const char* function_name);

}  // namespace sesame::mpi
