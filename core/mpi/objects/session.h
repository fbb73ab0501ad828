// Handles of sessions: finding the object of a handle, and errors of calls on a session.
#pragma once

#include "core/mpi/objects/constants.h"
#include "core/mpi/objects/session_object.h"

namespace sesame::mpi {

int check_session(Session handle, SessionObject** session);

// Applies the session's error handler; see raise_error().
[[gnu::cold]] int raise_session_error(Session session, int error, const char* function_name);

}  // namespace sesame::mpi
