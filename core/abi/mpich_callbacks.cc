// Calls functions, C and Fortran, of a program that uses the MPICH interface.
#include "core/abi/callable.h"
#include "core/abi/narrow.h"
#include "core/abi/operation_chunks.h"
#include "core/mpi/objects/callbacks.h"

namespace sesame::abi {
namespace {

// Types of the program's functions in C.
using OpFunction = void (*)(void*, void*, int*, Datatype*);
using LargeOpFunction = void (*)(void*, void*, Count*, Datatype*);
using CopyFunction = int (*)(int, int, void*, void*, void*, int*);
using DeleteFunction = int (*)(int, int, void*, void*);
template <typename Handle>
using ErrorFunction = void (*)(Handle*, int*, ...);
using QueryFunction = int (*)(void*, Status*);
using FreeFunction = int (*)(void*);
using ConvertFunction = int (*)(void*, Datatype, int, void*, Offset, void*);
using LargeConvertFunction = int (*)(void*, Datatype, Count, void*, Offset, void*);
using ExtentFunction = int (*)(Datatype, Aint*, void*);
using CancelFunction = int (*)(void*, int);

// Those of the Fortran and C++ layers, which call functions of these languages.
using CopyProxy = int (*)(Function, int, int, void*, AttributeType, void*, void**, int*);
using DeleteProxy = int (*)(Function, int, int, AttributeType, void*, void*);

using OpProxy = void (*)(const void*, void*, int, Datatype, Function);
using ErrorProxy = void (*)(int kind, void* handle, int* error, Function);

// Fortran's own: the error code comes back through the last argument.
using FortranQueryFunction = void (*)(void*, Status*, Fint*);
using FortranFreeFunction = void (*)(void*, Fint*);
using FortranCancelFunction = void (*)(void*, Fint*, Fint*);

template <typename Type>
Type as(Function function) {
  return reinterpret_cast<Type>(callable(function));
}

void invoke_op(const ProxiedFunction& user, CallbackKind kind, const void* in, void* inout,
               Count count, Datatype datatype) {
  void* input = const_cast<void*>(in);
  const Function function = user.function;
  if (user.proxy != nullptr) {
    for_each_chunk(input, inout, count, datatype, [&](void* from, void* to, int length) {
      as<OpProxy>(user.proxy)(from, to, length, datatype, function);
    });
    return;
  }
  if (kind == CallbackKind::kCLargeCount) {
    as<LargeOpFunction>(function)(input, inout, &count, &datatype);
    return;
  }
  // A Fortran function takes the same addresses.
  for_each_chunk(input, inout, count, datatype, [&](void* from, void* to, int length) {
    as<OpFunction>(function)(from, to, &length, &datatype);
  });
}

int copy_attribute(const ProxiedFunction& function, AttributeOwner, int object, int keyval,
                   void* extra_state, AttributeType type, void* value, void** copy, bool* keep) {
  *keep = false;
  if (function.function == nullptr) return MPI_SUCCESS;
  int flag = 0;
  int error;
  if (function.proxy != nullptr) {
    error = as<CopyProxy>(function.proxy)(function.function, object, keyval, extra_state, type,
                                          value, copy, &flag);
  } else {
    error = as<CopyFunction>(function.function)(object, keyval, extra_state, value, copy, &flag);
  }
  *keep = flag != 0;
  return error;
}

int delete_attribute(const ProxiedFunction& function, AttributeOwner, int object, int keyval,
                     void* extra_state, AttributeType type, void* value) {
  if (function.function == nullptr) return MPI_SUCCESS;
  if (function.proxy != nullptr) {
    return as<DeleteProxy>(function.proxy)(function.function, object, keyval, type, value,
                                           extra_state);
  }
  return as<DeleteFunction>(function.function)(object, keyval, value, extra_state);
}

// Fortran's take the same addresses. The kinds are arguments of MPICH's C++ layer, which has no
// sessions.
constexpr int kCommKind = 0, kFileKind = 1, kWinKind = 2, kSessionKind = 3;
template <typename Handle, int kKind>
int call_errhandler(const ProxiedFunction& function, Handle object, int error) {
  if (function.proxy == nullptr) {
    as<ErrorFunction<Handle>>(function.function)(&object, &error);
    return error;
  }
  // The C++ layer would take an error code for one that no handler has seen.
  as<ErrorProxy>(function.proxy)(kKind, &object, &error, function.function);
  return MPI_SUCCESS;
}

int datarep_convert(const Conversion& c) {
  if (c.large) {
    return as<LargeConvertFunction>(c.function)(c.user_buffer, c.datatype, c.count, c.file_buffer,
                                                c.position, c.extra_state);
  }
  return as<ConvertFunction>(c.function)(c.user_buffer, c.datatype, static_cast<int>(c.count),
                                         c.file_buffer, c.position, c.extra_state);
}

int datarep_extent(Function function, Datatype datatype, Aint* extent, void* extra_state) {
  return as<ExtentFunction>(function)(datatype, extent, extra_state);
}

int grequest_query(Function function, CallbackKind kind, void* extra_state, Status* status) {
  if (kind != CallbackKind::kFortran) return as<QueryFunction>(function)(extra_state, status);
  Fint error = MPI_SUCCESS;
  as<FortranQueryFunction>(function)(extra_state, status, &error);
  return error;
}

int grequest_free(Function function, CallbackKind kind, void* extra_state) {
  if (kind != CallbackKind::kFortran) return as<FreeFunction>(function)(extra_state);
  Fint error = MPI_SUCCESS;
  as<FortranFreeFunction>(function)(extra_state, &error);
  return error;
}

int grequest_cancel(Function function, CallbackKind kind, void* extra_state, bool complete) {
  if (kind != CallbackKind::kFortran) return as<CancelFunction>(function)(extra_state, complete);
  Fint error = MPI_SUCCESS;
  Fint flag = complete;
  as<FortranCancelFunction>(function)(extra_state, &flag, &error);
  return error;
}

constexpr Callbacks kCallbacks = {
    .error_code = [](int error) { return error; },
    .invoke_op = invoke_op,
    .copy_attribute = copy_attribute,
    .delete_attribute = delete_attribute,
    .comm_errhandler = call_errhandler<Comm, kCommKind>,
    .win_errhandler = call_errhandler<Win, kWinKind>,
    .file_errhandler = call_errhandler<File, kFileKind>,
    .session_errhandler = call_errhandler<Session, kSessionKind>,
    .datarep_convert = datarep_convert,
    .datarep_extent = datarep_extent,
    .grequest_query = grequest_query,
    .grequest_free = grequest_free,
    .grequest_cancel = grequest_cancel,
};

}  // namespace

// MPI_DUP_FN and its relatives are this function.
SESAME_ENTRY int MPIR_Dup_fn(int, int, void*, void* value, void* copy, int* flag) {
  *static_cast<void**>(copy) = value;
  *flag = 1;
  return MPI_SUCCESS;
}

}  // namespace sesame::abi

const sesame::mpi::Callbacks& sesame::mpi::callbacks() { return sesame::abi::kCallbacks; }
