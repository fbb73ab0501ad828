// Error handlers (MPI 4.1, section 9.3).
//
// Use: an MPI function of the simulator that fails only returns its error class (errors.h). The
// entry point then calls raise_error(), or raise_with() for other objects than communicators: the
// handler ends the job with a text, returns the error, or calls the program's function. Handlers
// are reference counted; the rank's tables own the handles. One thread.
#pragma once

#include "core/mpi/objects/constants.h"
#include "core/mpi/objects/errhandler_object.h"

namespace sesame::mpi {

struct CommObject;
struct ObjectOwner;

// Null if there is no error handler with this handle.
ErrhandlerObject* find_errhandler(ObjectOwner& owner, Errhandler handle);
// An error unless the handle may be attached to an object of this kind.
int check_errhandler(Errhandler handle, ErrhandlerObject::Kind kind, ErrhandlerObject** errhandler);
// Checks the handle and replaces the handler of an object, which is stored in `attached`.
int set_errhandler(ErrhandlerObject*& attached, Errhandler handle, ErrhandlerObject::Kind kind);

// Applies the error handler of the communicator (null: errors that concern no object) and returns
// the error, which a function of the program may have changed. Does not return if the handler ends
// the job. If the communicator has no handler, that of MPI_COMM_SELF and then that of
// MPI_COMM_WORLD applies. `function_name` is for the text, such as "MPI_Send".
[[gnu::cold]] int raise_error(CommObject* comm, int error, const char* function_name);
// The same with this handler (null: MPI_ERRORS_ARE_FATAL) of the object with this handle.
[[gnu::cold]] int raise_with(const ErrhandlerObject* errhandler, int object, int error,
                             const char* function_name);

// A handle for the program, which frees it with MPI_Errhandler_free (MPI_Comm_get_errhandler).
Errhandler hand_out_errhandler(ErrhandlerObject* errhandler);

}  // namespace sesame::mpi
