#include "core/mpi/objects/errhandler.h"

#include <utility>

#include "core/mpi/api.h"
#include "core/mpi/communicators/session.h"
#include "core/mpi/messages/arguments.h"
#include "core/mpi/messages/world.h"
#include "core/mpi/objects/errors.h"
#include "core/mpi/objects/group.h"
#include "core/mpi/rma/window.h"

namespace sesame::mpi {
namespace {

using Kind = ErrhandlerObject::Kind;

// What a program that calls the handler itself sees as the reason.
constexpr const char* kCalledByProgram = "the program called the error handler";

bool is_predefined(Errhandler handle) {
  return handle == MPI_ERRORS_ARE_FATAL || handle == MPI_ERRORS_RETURN ||
         handle == MPIR_ERRORS_THROW_EXCEPTIONS || handle == MPI_ERRORS_ABORT;
}

Kind predefined_kind(Errhandler handle) {
  if (handle == MPI_ERRORS_ARE_FATAL) return Kind::kFatal;
  return handle == MPI_ERRORS_ABORT ? Kind::kAbort : Kind::kReturn;
}

int create(Kind kind, Function function, Errhandler* errhandler) {
  MPI_TRY(check_out(errhandler, "errhandler"));
  if (function == nullptr) return fail(MPI_ERR_ARG, "the error handler function is null");
  auto* object = new ErrhandlerObject;
  object->kind = kind;
  object->function = function;
  object->handle = this_rank().objects.errhandlers.add(object);
  *errhandler = object->handle;
  return MPI_SUCCESS;
}

void attach(ErrhandlerObject*& place, ErrhandlerObject* errhandler) {
  retain(errhandler);
  release(place);
  place = errhandler;
}

[[noreturn]] void end_job(Rank& rank, int error, const char* function_name,
                          const std::string& detail) {
  std::string text = name_of_rank(rank) + ": " + function_name + ": " + error_text(rank, error);
  if (!detail.empty()) text += ": " + detail;
  rank.world.hooks.abort_job(1, text);
  __builtin_unreachable();
}

}  // namespace

Errhandler hand_out_errhandler(ErrhandlerObject* errhandler) {
  if (errhandler == nullptr) return MPI_ERRORS_ARE_FATAL;
  if (is_predefined(errhandler->handle)) return errhandler->handle;
  if (errhandler->user_references++ == 0) {
    // Its handle was freed, but the object uses it still.
    retain(errhandler);
    errhandler->handle = this_rank().objects.errhandlers.add(errhandler);
  }
  return errhandler->handle;
}

int set_errhandler(ErrhandlerObject*& place, Errhandler handle, ErrhandlerObject::Kind kind) {
  ErrhandlerObject* errhandler;
  MPI_TRY(check_errhandler(handle, kind, &errhandler));
  attach(place, errhandler);
  return MPI_SUCCESS;
}

ErrhandlerObject* find_errhandler(Rank& rank, Errhandler handle) {
  if (!is_predefined(handle)) return rank.objects.errhandlers.find(handle);
  ErrhandlerObject*& place = rank.objects.predefined_errhandlers[handle & 3];
  if (place == nullptr) {
    place = new ErrhandlerObject;
    place->kind = predefined_kind(handle);
    place->handle = handle;
  }
  return place;
}

int check_errhandler(Errhandler handle, Kind kind, ErrhandlerObject** errhandler) {
  *errhandler = find_errhandler(this_rank(), handle);
  if (*errhandler == nullptr) {
    return fail(MPI_ERR_ARG, handle == MPI_ERRHANDLER_NULL
                                 ? "the error handler is MPI_ERRHANDLER_NULL"
                                 : "no such error handler, or it was freed");
  }
  if ((*errhandler)->function.function != nullptr && (*errhandler)->kind != kind) {
    return fail(MPI_ERR_ARG, "the error handler was made for another kind of object");
  }
  return MPI_SUCCESS;
}

int raise_with(const ErrhandlerObject* errhandler, int object, int error,
               const char* function_name) {
  Rank& rank = this_rank();
  const std::string detail = std::exchange(rank.error_detail, {});
  switch (errhandler != nullptr ? errhandler->kind : Kind::kFatal) {
    case Kind::kFatal:
    case Kind::kAbort:
      end_job(rank, error, function_name, detail);
    case Kind::kReturn:
      break;
    case Kind::kComm:
      return callbacks().comm_errhandler(errhandler->function, object, error);
    case Kind::kWin:
      return callbacks().win_errhandler(errhandler->function, object, error);
    case Kind::kFile:
      break;
    case Kind::kSession:
      return callbacks().session_errhandler(errhandler->function, object, error);
  }
  return error;
}

int raise_error(CommObject* comm, int error, const char* function_name) {
  // Where no handler was set, that of MPI_COMM_SELF, and then that of MPI_COMM_WORLD, which the
  // standard named before MPI 4: as MPICH does.
  const ObjectTables& objects = this_rank().objects;
  for (CommObject* other : {objects.self, objects.world}) {
    if ((comm == nullptr || comm->errhandler == nullptr) && other != nullptr) comm = other;
  }
  const ErrhandlerObject* errhandler = comm != nullptr ? comm->errhandler : nullptr;
  return raise_with(errhandler, comm != nullptr ? comm->handle : MPI_COMM_NULL, error,
                    function_name);
}

int Comm_create_errhandler(Function comm_errhandler_fn, Errhandler* errhandler) {
  return create(Kind::kComm, comm_errhandler_fn, errhandler);
}

int Win_create_errhandler(Function win_errhandler_fn, Errhandler* errhandler) {
  return create(Kind::kWin, win_errhandler_fn, errhandler);
}

int File_create_errhandler(Function file_errhandler_fn, Errhandler* errhandler) {
  return create(Kind::kFile, file_errhandler_fn, errhandler);
}

int Session_create_errhandler(Function session_errhandler_fn, Errhandler* errhandler) {
  return create(Kind::kSession, session_errhandler_fn, errhandler);
}

void Errhandler_set_proxy(Errhandler handle, Function proxy) {
  ErrhandlerObject* errhandler = this_rank().objects.errhandlers.find(handle);
  if (errhandler != nullptr) errhandler->function.proxy = proxy;
}

int Errhandler_free(Errhandler* errhandler) {
  MPI_TRY(check_out(errhandler, "errhandler"));
  ErrhandlerObject* object = find_errhandler(this_rank(), *errhandler);
  if (object == nullptr) return fail(MPI_ERR_ARG, "no such error handler, or it was freed");
  if (!is_predefined(*errhandler) && --object->user_references == 0) {
    release(this_rank().objects.errhandlers.remove(*errhandler));
  }
  *errhandler = MPI_ERRHANDLER_NULL;
  return MPI_SUCCESS;
}

namespace {

int get_errhandler(ErrhandlerObject* errhandler, Errhandler* handle) {
  MPI_TRY(check_out(handle, "errhandler"));
  *handle = hand_out_errhandler(errhandler);
  return MPI_SUCCESS;
}

int call_errhandler(const ErrhandlerObject* errhandler, int object, int errorcode,
                    const char* function_name) {
  this_rank().error_detail = kCalledByProgram;
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
