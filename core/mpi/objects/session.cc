#include "core/mpi/objects/session.h"

#include "core/mpi/objects/errhandler.h"
#include "core/mpi/objects/errors.h"
#include "core/mpi/objects/object_tables.h"

namespace sesame::mpi {

int check_session(Session handle, SessionObject** session) {
  *session = this_owner().objects.sessions.find(handle);
  if (*session != nullptr) return MPI_SUCCESS;
  return fail(MPI_ERR_SESSION, handle == MPI_SESSION_NULL ? "the session is MPI_SESSION_NULL"
                                                          : "no such session, or it was finalized");
}

int raise_session_error(Session session, int error, const char* function_name) {
  const SessionObject* object = this_owner().objects.sessions.find(session);
  if (object == nullptr) return raise_error(nullptr, error, function_name);
  return raise_with(object->errhandler, session, error, function_name);
}

}  // namespace sesame::mpi
