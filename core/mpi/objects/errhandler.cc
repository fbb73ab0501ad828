#include "core/mpi/objects/errhandler.h"

#include <utility>

#include "core/mpi/api.h"
#include "core/mpi/objects/errors.h"
#include "core/mpi/objects/object_tables.h"

namespace sesame::mpi {
namespace {

using Kind = ErrhandlerObject::Kind;

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
  object->handle = this_owner().objects.errhandlers.add(object);
  *errhandler = object->handle;
  return MPI_SUCCESS;
}

void attach(ErrhandlerObject*& attached, ErrhandlerObject* errhandler) {
  retain(errhandler);
  release(attached);
  attached = errhandler;
}

[[noreturn]] void end_job(ObjectOwner& owner, int error, const char* function_name,
                          const std::string& detail) {
  std::string text = owner.name() + ": " + function_name + ": " + error_text(owner.errors, error);
  if (!detail.empty()) text += ": " + detail;
  owner.abort_job(text);
  __builtin_unreachable();
}

}  // namespace

Errhandler hand_out_errhandler(ErrhandlerObject* errhandler) {
  if (errhandler == nullptr) return MPI_ERRORS_ARE_FATAL;
  if (is_predefined(errhandler->handle)) return errhandler->handle;
  if (errhandler->user_references++ == 0) {
    // The program freed the handle, but an object still uses the handler.
    retain(errhandler);
    errhandler->handle = this_owner().objects.errhandlers.add(errhandler);
  }
  return errhandler->handle;
}

int set_errhandler(ErrhandlerObject*& attached, Errhandler handle, ErrhandlerObject::Kind kind) {
  ErrhandlerObject* errhandler;
  MPI_TRY(check_errhandler(handle, kind, &errhandler));
  attach(attached, errhandler);
  return MPI_SUCCESS;
}

ErrhandlerObject* find_errhandler(ObjectOwner& owner, Errhandler handle) {
  if (!is_predefined(handle)) return owner.objects.errhandlers.find(handle);
  ErrhandlerObject*& predefined = owner.objects.predefined_errhandlers[handle & 3];
  if (predefined == nullptr) {
    predefined = new ErrhandlerObject;
    predefined->kind = predefined_kind(handle);
    predefined->handle = handle;
  }
  return predefined;
}

int check_errhandler(Errhandler handle, Kind kind, ErrhandlerObject** errhandler) {
  *errhandler = find_errhandler(this_owner(), handle);
  if (*errhandler == nullptr) {
    return fail(MPI_ERR_ARG, handle == MPI_ERRHANDLER_NULL
                                 ? "the error handler is MPI_ERRHANDLER_NULL"
                                 : "no such error handler, or it was freed");
  }
  const bool is_for_one_kind =
      (*errhandler)->function.function != nullptr && (*errhandler)->kind != Kind::kThrow;
  if (is_for_one_kind && (*errhandler)->kind != kind) {
    return fail(MPI_ERR_ARG, "the error handler was made for another kind of object");
  }
  return MPI_SUCCESS;
}

int raise_with(const ErrhandlerObject* errhandler, int object, int error,
               const char* function_name) {
  ObjectOwner& owner = this_owner();
  const std::string detail = std::exchange(owner.errors.detail, {});
  switch (errhandler != nullptr ? errhandler->kind : Kind::kFatal) {
    case Kind::kFatal:
    case Kind::kAbort:
      end_job(owner, error, function_name, detail);
    case Kind::kReturn:
      break;
    case Kind::kThrow:
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
  // As in MPICH: if the communicator has no handler, that of MPI_COMM_SELF applies (MPI 4), and
  // then that of MPI_COMM_WORLD (before MPI 4).
  const ObjectTables& objects = this_owner().objects;
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
  ErrhandlerObject* errhandler = this_owner().objects.errhandlers.find(handle);
  if (errhandler != nullptr) errhandler->function.proxy = proxy;
}

void Errhandler_throw_by(Function function) {
  ErrhandlerObject* errhandler = find_errhandler(this_owner(), MPIR_ERRORS_THROW_EXCEPTIONS);
  errhandler->kind = Kind::kThrow;
  errhandler->function = function;
}

int Errhandler_free(Errhandler* errhandler) {
  MPI_TRY(check_out(errhandler, "errhandler"));
  ErrhandlerObject* object = find_errhandler(this_owner(), *errhandler);
  if (object == nullptr) return fail(MPI_ERR_ARG, "no such error handler, or it was freed");
  if (!is_predefined(*errhandler) && --object->user_references == 0) {
    release(this_owner().objects.errhandlers.remove(*errhandler));
  }
  *errhandler = MPI_ERRHANDLER_NULL;
  return MPI_SUCCESS;
}

}  // namespace sesame::mpi
