// Calls functions of a program that uses a binary interface other than MPICH's. Functions of other
// languages than C are called through functions that convert what they take.
#include "core/abi/operation_chunks.h"
#include "core/abi/translate.h"
#include "core/mpi/objects/callbacks.h"

namespace sesame::abi {
namespace {

using OpFunction = void (*)(void*, void*, int*, AbiDatatype*);
using LargeOpFunction = void (*)(void*, void*, Count*, AbiDatatype*);
// The handle of a communicator, datatype or window comes first; all are passed alike.
using CopyFunction = int (*)(uintptr_t, int, void*, void*, void*, int*);
using DeleteFunction = int (*)(uintptr_t, int, void*, void*);
template <typename Handle>
using ErrorFunction = void (*)(Handle*, int*, ...);
using QueryFunction = int (*)(void*, AbiStatus*);
using FreeFunction = int (*)(void*);
using ConvertFunction = int (*)(void*, AbiDatatype, int, void*, Offset, void*);
using LargeConvertFunction = int (*)(void*, AbiDatatype, Count, void*, Offset, void*);
using ExtentFunction = int (*)(AbiDatatype, Aint*, void*);
using CancelFunction = int (*)(void*, int);

// Fortran's own: the error code comes back through the last argument.
using FortranQueryFunction = void (*)(void*, AbiStatus*, Fint*);
using FortranFreeFunction = void (*)(void*, Fint*);
using FortranCancelFunction = void (*)(void*, Fint*, Fint*);

// Functions through which those of C++ (Open MPI's layer has them) and Fortran
// (openmpi_fortran_callbacks.cc) are called. That of operations is the operation's function, and
// the program's its proxy: the C++ layer gives them in this order.
using OpIntercept = void (*)(void*, void*, int*, AbiDatatype*, Function);
template <typename Handle>
using ErrorIntercept = void (*)(Handle*, int*, const char*, Function);
using CopyIntercept = int (*)(uintptr_t, int, void*, void*, void**, int*, Function);
using DeleteIntercept = int (*)(uintptr_t, int, void*, void*, Function);

template <typename Type>
Type as(Function function) {
  return reinterpret_cast<Type>(function);
}

void invoke_op(const ProxiedFunction& user, CallbackKind kind, const void* in, void* inout,
               Count count, Datatype datatype) {
  void* input = const_cast<void*>(in);
  AbiDatatype type = AbiDatatype::out(datatype);
  const Function function = user.function;
  if (user.proxy != nullptr) {
    for_each_chunk(input, inout, count, datatype, [&](void* from, void* to, int length) {
      as<OpIntercept>(function)(from, to, &length, &type, user.proxy);
    });
    return;
  }
  if (kind == CallbackKind::kCLargeCount) {
    as<LargeOpFunction>(function)(input, inout, &count, &type);
    return;
  }
  for_each_chunk(input, inout, count, datatype, [&](void* from, void* to, int length) {
    as<OpFunction>(function)(from, to, &length, &type);
  });
}

uintptr_t owner_out(AttributeOwner owner, int object) {
  switch (owner) {
    case AttributeOwner::kComm:
      return AbiComm::out(object).value;
    case AttributeOwner::kDatatype:
      return AbiDatatype::out(object).value;
    case AttributeOwner::kWin:
      return AbiWin::out(object).value;
  }
  return 0;
}

int copy_attribute(const ProxiedFunction& function, AttributeOwner owner, int object, int keyval,
                   void* extra_state, AttributeType, void* value, void** copy, bool* keep) {
  *keep = false;
  if (function.function == nullptr) return MPI_SUCCESS;
  if (reinterpret_cast<uintptr_t>(function.function) == kAbiDuplicateFunction) {
    *copy = value;
    *keep = true;
    return MPI_SUCCESS;
  }
  int flag = 0;
  int error;
  if (function.proxy != nullptr) {
    error = as<CopyIntercept>(function.proxy)(owner_out(owner, object), keyval_out(keyval),
                                              extra_state, value, copy, &flag, function.function);
  } else {
    error = as<CopyFunction>(function.function)(owner_out(owner, object), keyval_out(keyval),
                                                extra_state, value, copy, &flag);
  }
  *keep = flag != 0;
  return error_in(error);
}

int delete_attribute(const ProxiedFunction& function, AttributeOwner owner, int object, int keyval,
                     void* extra_state, AttributeType, void* value) {
  if (function.function == nullptr) return MPI_SUCCESS;
  if (function.proxy != nullptr) {
    return error_in(as<DeleteIntercept>(function.proxy)(
        owner_out(owner, object), keyval_out(keyval), value, extra_state, function.function));
  }
  return error_in(as<DeleteFunction>(function.function)(owner_out(owner, object),
                                                        keyval_out(keyval), value, extra_state));
}

template <typename Handle>
int call_errhandler(const ProxiedFunction& function, typename Handle::Inside object, int error) {
  Handle handle = Handle::out(object);
  int code = error_out(error);
  if (function.proxy != nullptr) {
    as<ErrorIntercept<Handle>>(function.proxy)(&handle, &code, "", function.function);
  } else {
    as<ErrorFunction<Handle>>(function.function)(&handle, &code);
  }
  return code == error_out(error) ? error : error_in(code);
}

int datarep_convert(const Conversion& c) {
  const auto datatype = AbiDatatype::out(c.datatype);
  if (c.large) {
    return error_in(as<LargeConvertFunction>(c.function)(c.user_buffer, datatype, c.count,
                                                         c.file_buffer, c.position, c.extra_state));
  }
  return error_in(as<ConvertFunction>(c.function)(c.user_buffer, datatype,
                                                  static_cast<int>(c.count), c.file_buffer,
                                                  c.position, c.extra_state));
}

int datarep_extent(Function function, Datatype datatype, Aint* extent, void* extra_state) {
  return error_in(as<ExtentFunction>(function)(AbiDatatype::out(datatype), extent, extra_state));
}

int grequest_query(Function function, CallbackKind kind, void* extra_state, Status* status) {
  AbiStatus given{};
  status_out(*status, &given);
  int error = MPI_SUCCESS;
  if (kind == CallbackKind::kFortran) {
    as<FortranQueryFunction>(function)(extra_state, &given, &error);
  } else {
    error = as<QueryFunction>(function)(extra_state, &given);
  }
  status_in(given, status);
  return error_in(error);
}

int grequest_free(Function function, CallbackKind kind, void* extra_state) {
  if (kind != CallbackKind::kFortran) return error_in(as<FreeFunction>(function)(extra_state));
  Fint error = MPI_SUCCESS;
  as<FortranFreeFunction>(function)(extra_state, &error);
  return error_in(error);
}

int grequest_cancel(Function function, CallbackKind kind, void* extra_state, bool complete) {
  if (kind != CallbackKind::kFortran)
    return error_in(as<CancelFunction>(function)(extra_state, complete));
  Fint error = MPI_SUCCESS;
  Fint flag = complete;
  as<FortranCancelFunction>(function)(extra_state, &flag, &error);
  return error_in(error);
}

constexpr Callbacks kCallbacks = {
    .error_code = error_out,
    .invoke_op = invoke_op,
    .copy_attribute = copy_attribute,
    .delete_attribute = delete_attribute,
    .comm_errhandler = call_errhandler<AbiComm>,
    .win_errhandler = call_errhandler<AbiWin>,
    .file_errhandler = call_errhandler<AbiFile>,
    .session_errhandler = call_errhandler<AbiSession>,
    .datarep_convert = datarep_convert,
    .datarep_extent = datarep_extent,
    .grequest_query = grequest_query,
    .grequest_free = grequest_free,
    .grequest_cancel = grequest_cancel,
};

}  // namespace
}  // namespace sesame::abi

const sesame::mpi::Callbacks& sesame::mpi::callbacks() { return sesame::abi::kCallbacks; }
