// Calls of a rank that is a process which are not generated: those that concern its own memory, and
// those of Fortran and C++ layers.
#include <cstdlib>
#include <map>
#include <mutex>

#include "core/mpi/api.h"
#include "core/mpi/objects/errors.h"
#include "core/remote/program/requests.h"

namespace sesame::mpi {

using namespace remote;

// ---- Its own memory ----

int Alloc_mem(Aint size, Info, void* baseptr) {
  if (size < 0) return fail(MPI_ERR_ARG, "the size is negative");
  void* const memory = std::malloc(size == 0 ? 1 : static_cast<size_t>(size));
  if (memory == nullptr) return fail(MPI_ERR_NO_MEM, "out of memory");
  *static_cast<void**>(baseptr) = memory;
  return MPI_SUCCESS;
}

int Free_mem(void* base) {
  std::free(base);
  return MPI_SUCCESS;
}

int Get_address(const void* location, Aint* address) {
  *address = reinterpret_cast<Aint>(location);
  return MPI_SUCCESS;
}

double Wtick() { return 1e-9; }

// ---- Attributes ----

namespace {

CallRequest special(SpecialCall what) { return CallRequest(static_cast<uint16_t>(what)); }

// Integers that C gets by their address: those of predefined attributes, and what Fortran stored.
const Aint* integer_for_c(AttributeOwner owner, int object, int keyval, Aint value) {
  static auto* const integers = new std::map<std::tuple<AttributeOwner, int, int>, Aint>;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  Aint& kept = (*integers)[{owner, object, keyval}];
  kept = value;
  return &kept;
}

int get_attribute(AttributeOwner owner, int object, int keyval, AttributeType asked, void* value,
                  int* flag) {
  CallRequest request = special(SpecialCall::kGetAttribute);
  request.put(owner);
  request.put(object);
  request.put(keyval);
  request.put(asked);
  request.put(value == nullptr || flag == nullptr);
  const int outcome = request.call();
  const bool found = request.get<bool>();
  const bool by_address = request.get<bool>();
  const auto given = request.get<Aint>();
  if (outcome != MPI_SUCCESS) return outcome;
  *flag = found;
  if (!found) return outcome;
  if (by_address) {
    *static_cast<const Aint**>(value) = integer_for_c(owner, object, keyval, given);
  } else {
    *static_cast<Aint*>(value) = given;
  }
  return outcome;
}

int set_attribute(AttributeOwner owner, int object, int keyval, AttributeType type, void* value) {
  CallRequest request = special(SpecialCall::kSetAttribute);
  request.put(owner);
  request.put(object);
  request.put(keyval);
  request.put(type);
  request.put(value);
  return request.call();
}

}  // namespace

#define SESAME_ATTRIBUTES(Owner, Handle, owner)                                           \
  int Owner##_get_attribute(Handle handle, int keyval, AttributeType asked, void* value,  \
                            int* flag) {                                                  \
    return get_attribute(owner, handle, keyval, asked, value, flag);                      \
  }                                                                                       \
  int Owner##_set_attribute(Handle handle, int keyval, AttributeType type, void* value) { \
    return set_attribute(owner, handle, keyval, type, value);                             \
  }                                                                                       \
  int Owner##_get_attr(Handle handle, int keyval, void* value, int* flag) {               \
    return get_attribute(owner, handle, keyval, AttributeType::kPointer, value, flag);    \
  }                                                                                       \
  int Owner##_set_attr(Handle handle, int keyval, void* value) {                          \
    return set_attribute(owner, handle, keyval, AttributeType::kPointer, value);          \
  }
SESAME_ATTRIBUTES(Comm, Comm, AttributeOwner::kComm)
SESAME_ATTRIBUTES(Type, Datatype, AttributeOwner::kDatatype)
SESAME_ATTRIBUTES(Win, Win, AttributeOwner::kWin)
#undef SESAME_ATTRIBUTES

// ---- Functions of other languages ----

void Keyval_set_proxies(int keyval, Function copy_proxy, Function delete_proxy) {
  CallRequest request = special(SpecialCall::kSetKeyvalProxies);
  request.put(keyval);
  request.put(copy_proxy);
  request.put(delete_proxy);
  request.query();
}

void Op_set_proxy(Op op, Function proxy) {
  CallRequest request = special(SpecialCall::kSetOpProxy);
  request.put(op);
  request.put(proxy);
  request.query();
}

void Errhandler_set_proxy(Errhandler errhandler, Function proxy) {
  CallRequest request = special(SpecialCall::kSetErrhandlerProxy);
  request.put(errhandler);
  request.put(proxy);
  request.query();
}

void Errhandler_throw_by(Function function) {
  CallRequest request = special(SpecialCall::kThrowBy);
  request.put(function);
  request.query();
}

void Grequest_set_fortran(Request handle) {
  CallRequest request = special(SpecialCall::kSetRequestFortran);
  request.put(handle);
  request.query();
}

}  // namespace sesame::mpi
