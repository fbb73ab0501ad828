// The MPI functions that attach error handlers to communicators, windows and sessions, and call
// them.
#include "core/mpi/api.h"
#include "core/mpi/messages/arguments.h"
#include "core/mpi/messages/rank.h"
#include "core/mpi/objects/errhandler.h"
#include "core/mpi/objects/errors.h"
#include "core/mpi/objects/session.h"
#include "core/mpi/rma/window.h"

namespace sesame::mpi {
namespace {

using Kind = ErrhandlerObject::Kind;

// The reason shown if the program calls the handler itself.
constexpr const char* kCalledByProgram = "the program called the error handler";

int get_errhandler(ErrhandlerObject* errhandler, Errhandler* handle) {
  MPI_TRY(check_out(handle, "errhandler"));
  *handle = hand_out_errhandler(errhandler);
  return MPI_SUCCESS;
}

int call_errhandler(const ErrhandlerObject* errhandler, int object, int errorcode,
                    const char* function_name) {
  this_rank().errors.detail = kCalledByProgram;
  raise_with(errhandler, object, errorcode, function_name);
  return MPI_SUCCESS;
}

}  // namespace

int Comm_set_errhandler(Comm comm, Errhandler errhandler) {
  CommObject* object;
  MPI_TRY(check_comm(comm, &object));
  return set_errhandler(object->errhandler, errhandler, Kind::kComm);
}

int Comm_get_errhandler(Comm comm, Errhandler* errhandler) {
  CommObject* object;
  MPI_TRY(check_comm(comm, &object));
  return get_errhandler(object->errhandler, errhandler);
}

int Comm_call_errhandler(Comm comm, int errorcode) {
  CommObject* object;
  MPI_TRY(check_comm(comm, &object));
  return call_errhandler(object->errhandler, comm, errorcode, "MPI_Comm_call_errhandler");
}

int Win_set_errhandler(Win win, Errhandler errhandler) {
  WindowObject* window;
  MPI_TRY(check_window(win, &window));
  return set_errhandler(window->errhandler, errhandler, Kind::kWin);
}

int Win_get_errhandler(Win win, Errhandler* errhandler) {
  WindowObject* window;
  MPI_TRY(check_window(win, &window));
  return get_errhandler(window->errhandler, errhandler);
}

int Win_call_errhandler(Win win, int errorcode) {
  WindowObject* window;
  MPI_TRY(check_window(win, &window));
  return call_errhandler(window->errhandler, win, errorcode, "MPI_Win_call_errhandler");
}

int Session_set_errhandler(Session session, Errhandler errhandler) {
  SessionObject* object;
  MPI_TRY(check_session(session, &object));
  return set_errhandler(object->errhandler, errhandler, Kind::kSession);
}

int Session_get_errhandler(Session session, Errhandler* errhandler) {
  SessionObject* object;
  MPI_TRY(check_session(session, &object));
  return get_errhandler(object->errhandler, errhandler);
}

int Session_call_errhandler(Session session, int errorcode) {
  SessionObject* object;
  MPI_TRY(check_session(session, &object));
  return call_errhandler(object->errhandler, session, errorcode, "MPI_Session_call_errhandler");
}

}  // namespace sesame::mpi
