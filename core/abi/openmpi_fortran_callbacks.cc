// Fortran entry points of Open MPI's interface that take functions of the program, and those for
// attributes. A Fortran function is called through one of the functions here, which
// translated_callbacks.cc calls with the handles of C.
#include "core/abi/openmpi_fortran.h"
#include "core/mpi/api.h"
#include "core/mpi/calls/call.h"
#include "core/mpi/objects/callbacks.h"

namespace sesame::abi {
namespace {

template <typename Type>
Type fortran(Function function) {
  return reinterpret_cast<Type>(function);
}
template <typename Type>
Function untyped(Type* function) {
  return reinterpret_cast<Function>(function);
}

// ---- Reduction operations ----

void call_fortran_op(void* in, void* inout, int* length, AbiDatatype* datatype, Function function) {
  FortranDatatype type = FortranDatatype::out(datatype_in(*datatype));
  fortran<void (*)(void*, void*, int*, FortranDatatype*)>(function)(in, inout, length, &type);
}

// ---- Error handlers ----

template <typename Handle, typename FortranType>
void call_fortran_errhandler(Handle* object, int* code, const char*, Function function) {
  FortranType handle = FortranType::out(Handle::in(*object));
  fortran<void (*)(FortranType*, int*)>(function)(&handle, code);
}

void create_errhandler(CallScope& call, int (*create)(Function, Errhandler*), Function function,
                       Function proxy, FortranErrhandler* errhandler, Fint* ierror) {
  HandleOut<FortranErrhandler> errhandler_box(errhandler);
  const int outcome = create(function, errhandler_box.get());
  if (outcome == MPI_SUCCESS) Errhandler_set_proxy(*errhandler_box.get(), proxy);
  errhandler_box.store();
  set_error(ierror, call.finish(outcome));
}

// ---- Attributes ----

// Integer is what values and the extra state are: MPI_Aint, or Fint for the functions of MPI-1.
template <ConstantKind kind, typename Integer>
int copy_fortran_attribute(uintptr_t object, int keyval, void* extra_state, void* value,
                           void** copy, int* flag, Function function) {
  auto handle = FortranHandle<kind>::out(AbiHandle<kind>::in(AbiHandle<kind>{object}));
  auto state = static_cast<Integer>(reinterpret_cast<intptr_t>(extra_state));
  auto in = static_cast<Integer>(reinterpret_cast<intptr_t>(value));
  Integer out = 0;
  Fint error = MPI_SUCCESS;
  fortran<void (*)(FortranHandle<kind>*, int*, Integer*, Integer*, Integer*, Fint*, Fint*)>(
      function)(&handle, &keyval, &state, &in, &out, flag, &error);
  *copy = reinterpret_cast<void*>(static_cast<intptr_t>(out));
  return error;
}

template <ConstantKind kind, typename Integer>
int delete_fortran_attribute(uintptr_t object, int keyval, void* value, void* extra_state,
                             Function function) {
  auto handle = FortranHandle<kind>::out(AbiHandle<kind>::in(AbiHandle<kind>{object}));
  auto state = static_cast<Integer>(reinterpret_cast<intptr_t>(extra_state));
  auto old = static_cast<Integer>(reinterpret_cast<intptr_t>(value));
  Fint error = MPI_SUCCESS;
  fortran<void (*)(FortranHandle<kind>*, int*, Integer*, Integer*, Fint*)>(function)(
      &handle, &keyval, &old, &state, &error);
  return error;
}

using CreateKeyval = int (*)(Function, Function, int*, void*);
template <ConstantKind kind, typename Integer>
void create_keyval(CallScope& call, CreateKeyval create, Function copy, Function remove,
                   Fint* keyval, const Integer* extra_state, Fint* ierror) {
  void* state = reinterpret_cast<void*>(static_cast<intptr_t>(*extra_state));
  const int outcome = create(copy, remove, keyval, state);
  if (outcome == MPI_SUCCESS)
    Keyval_set_proxies(*keyval, untyped(copy_fortran_attribute<kind, Integer>),
                       untyped(delete_fortran_attribute<kind, Integer>));
  set_error(ierror, call.finish(outcome));
}

// Values of predefined attributes that are constants differ between the interfaces.
Aint attribute_value_out(int keyval, Aint value) {
  const auto number = static_cast<int>(value);
  switch (keyval) {
    case MPI_HOST:
    case MPI_IO:
      return rank_out(number);
    case MPI_LASTUSEDCODE:
      return error_out(number);
    case MPI_WIN_CREATE_FLAVOR:
      return constant_out<ConstantKind::win_flavor>(number, number);
    case MPI_WIN_MODEL:
      return constant_out<ConstantKind::win_model>(number, number);
    default:
      return value;
  }
}

template <typename Integer>
constexpr AttributeType kAttributeType = AttributeType::kAddressInteger;
template <>
constexpr AttributeType kAttributeType<Fint> = AttributeType::kInteger;

template <typename Integer>
int get_attribute(int (*get)(int, int, AttributeType, void*, int*), int object, Fint keyval,
                  Integer* value, Fint* flag) {
  Aint found = 0;
  const int inside = keyval_in(keyval);
  const int outcome = get(object, inside, kAttributeType<Integer>, &found, flag);
  if (outcome == MPI_SUCCESS && *flag != 0)
    *value = static_cast<Integer>(attribute_value_out(inside, found));
  return outcome;
}

template <typename Integer>
int set_attribute(int (*set)(int, int, AttributeType, void*), int object, Fint keyval,
                  Integer value) {
  return set(object, keyval_in(keyval), kAttributeType<Integer>,
             reinterpret_cast<void*>(static_cast<intptr_t>(value)));
}

// ---- Data representations ----

// What the program registered; lives as long as the process, as the data representation does.
struct FortranDatarep {
  Function read;
  Function write;
  Function extent;
  Aint* extra_state;
};

template <Function FortranDatarep::*function>
int convert(void* user_buffer, AbiDatatype datatype, int count, void* file_buffer, Offset position,
            void* extra_state) {
  const auto* datarep = static_cast<const FortranDatarep*>(extra_state);
  FortranDatatype type = FortranDatatype::out(datatype_in(datatype));
  Fint error = MPI_SUCCESS;
  fortran<void (*)(void*, FortranDatatype*, int*, void*, Offset*, Aint*, Fint*)>(
      datarep->*function)(user_buffer, &type, &count, file_buffer, &position, datarep->extra_state,
                          &error);
  return error;
}

int file_extent(AbiDatatype datatype, Aint* extent, void* extra_state) {
  const auto* datarep = static_cast<const FortranDatarep*>(extra_state);
  FortranDatatype type = FortranDatatype::out(datatype_in(datatype));
  Fint error = MPI_SUCCESS;
  fortran<void (*)(FortranDatatype*, Aint*, Aint*, Fint*)>(datarep->extent)(
      &type, extent, datarep->extra_state, &error);
  return error;
}

}  // namespace

SESAME_ENTRY void ompi_op_create_f(Function function, const Fint* commute, FortranOp* op,
                                   Fint* ierror) {
  CallScope call(CallId::Op_create);
  HandleOut<FortranOp> op_box(op);
  const int outcome =
      mpi::Op_create(untyped(call_fortran_op), CallbackKind::kC, *commute, op_box.get());
  if (outcome == MPI_SUCCESS) Op_set_proxy(*op_box.get(), function);
  op_box.store();
  set_error(ierror, call.finish(outcome));
}
SESAME_FORTRAN(Op_create, op_create, OP_CREATE)

#define SESAME_FORTRAN_ERRHANDLER(name, id, create, Object, Mixed, UPPER)                         \
  SESAME_ENTRY void ompi_##name##_f(Function function, FortranErrhandler* errhandler,             \
                                    Fint* ierror) {                                               \
    CallScope call(CallId::id);                                                                   \
    create_errhandler(call, mpi::create, function,                                                \
                      untyped(call_fortran_errhandler<Abi##Object, Fortran##Object>), errhandler, \
                      ierror);                                                                    \
  }                                                                                               \
  SESAME_FORTRAN(Mixed, name, UPPER)
SESAME_FORTRAN_ERRHANDLER(comm_create_errhandler, Comm_create_errhandler, Comm_create_errhandler,
                          Comm, Comm_create_errhandler, COMM_CREATE_ERRHANDLER)
SESAME_FORTRAN_ERRHANDLER(errhandler_create, Errhandler_create, Comm_create_errhandler, Comm,
                          Errhandler_create, ERRHANDLER_CREATE)
SESAME_FORTRAN_ERRHANDLER(file_create_errhandler, File_create_errhandler, File_create_errhandler,
                          File, File_create_errhandler, FILE_CREATE_ERRHANDLER)
SESAME_FORTRAN_ERRHANDLER(session_create_errhandler, Session_create_errhandler,
                          Session_create_errhandler, Session, Session_create_errhandler,
                          SESSION_CREATE_ERRHANDLER)
SESAME_FORTRAN_ERRHANDLER(win_create_errhandler, Win_create_errhandler, Win_create_errhandler, Win,
                          Win_create_errhandler, WIN_CREATE_ERRHANDLER)
#undef SESAME_FORTRAN_ERRHANDLER

#define SESAME_FORTRAN_KEYVAL(name, create, kind, Integer, Mixed, UPPER)                    \
  SESAME_ENTRY void ompi_##name##_f(Function copy, Function remove, Fint* keyval,           \
                                    const Integer* extra_state, Fint* ierror) {             \
    CallScope call(CallId::Mixed);                                                          \
    create_keyval<ConstantKind::kind>(call, mpi::create, copy, remove, keyval, extra_state, \
                                      ierror);                                              \
  }                                                                                         \
  SESAME_FORTRAN(Mixed, name, UPPER)
SESAME_FORTRAN_KEYVAL(comm_create_keyval, Comm_create_keyval, comm, Aint, Comm_create_keyval,
                      COMM_CREATE_KEYVAL)
SESAME_FORTRAN_KEYVAL(keyval_create, Comm_create_keyval, comm, Fint, Keyval_create, KEYVAL_CREATE)
SESAME_FORTRAN_KEYVAL(type_create_keyval, Type_create_keyval, datatype, Aint, Type_create_keyval,
                      TYPE_CREATE_KEYVAL)
SESAME_FORTRAN_KEYVAL(win_create_keyval, Win_create_keyval, win, Aint, Win_create_keyval,
                      WIN_CREATE_KEYVAL)
#undef SESAME_FORTRAN_KEYVAL

#define SESAME_FORTRAN_ATTRIBUTE(get_name, Get, GET, set_name, Set, SET, Object, functions,     \
                                 Integer, finish)                                               \
  SESAME_ENTRY void ompi_##get_name##_f(const Fortran##Object* object_f, const Fint* keyval,    \
                                        Integer* value, Fint* flag, Fint* ierror) {             \
    CallScope call(CallId::Get);                                                                \
    [[maybe_unused]] const int object = handle_of(*object_f);                                   \
    const int outcome = get_attribute(functions##_get_attribute, object, *keyval, value, flag); \
    set_error(ierror, call.finish);                                                             \
  }                                                                                             \
  SESAME_FORTRAN(Get, get_name, GET)                                                            \
  SESAME_ENTRY void ompi_##set_name##_f(const Fortran##Object* object_f, const Fint* keyval,    \
                                        const Integer* value, Fint* ierror) {                   \
    CallScope call(CallId::Set);                                                                \
    [[maybe_unused]] const int object = handle_of(*object_f);                                   \
    const int outcome = set_attribute(functions##_set_attribute, object, *keyval, *value);      \
    set_error(ierror, call.finish);                                                             \
  }                                                                                             \
  SESAME_FORTRAN(Set, set_name, SET)
SESAME_FORTRAN_ATTRIBUTE(comm_get_attr, Comm_get_attr, COMM_GET_ATTR, comm_set_attr, Comm_set_attr,
                         COMM_SET_ATTR, Comm, Comm, Aint, finish_comm(outcome, object))
SESAME_FORTRAN_ATTRIBUTE(attr_get, Attr_get, ATTR_GET, attr_put, Attr_put, ATTR_PUT, Comm, Comm,
                         Fint, finish_comm(outcome, object))
SESAME_FORTRAN_ATTRIBUTE(type_get_attr, Type_get_attr, TYPE_GET_ATTR, type_set_attr, Type_set_attr,
                         TYPE_SET_ATTR, Datatype, Type, Aint, finish(outcome))
SESAME_FORTRAN_ATTRIBUTE(win_get_attr, Win_get_attr, WIN_GET_ATTR, win_set_attr, Win_set_attr,
                         WIN_SET_ATTR, Win, Win, Aint, finish_win(outcome, object))
#undef SESAME_FORTRAN_ATTRIBUTE

// The functions get the address of the program's extra state itself, as in Open MPI.
SESAME_ENTRY void ompi_grequest_start_f(Function query, Function free, Function cancel,
                                        Aint* extra_state, FortranRequest* request, Fint* ierror) {
  CallScope call(CallId::Grequest_start);
  HandleOut<FortranRequest> request_box(request);
  const int outcome = mpi::Grequest_start(query, free, cancel, extra_state, request_box.get());
  if (outcome == MPI_SUCCESS) Grequest_set_fortran(*request_box.get());
  request_box.store();
  set_error(ierror, call.finish(outcome));
}
SESAME_FORTRAN(Grequest_start, grequest_start, GREQUEST_START)

// MPI_CONVERSION_FN_NULL: known by its address, never called.
SESAME_ENTRY void mpi_conversion_fn_null_f(void*, Fint*, Fint*, void*, Offset*, Aint*, Fint*) {}
SESAME_FORTRAN_NAME(mpi_conversion_fn_null_f, mpi_conversion_fn_null)
SESAME_FORTRAN_NAME(mpi_conversion_fn_null_f, mpi_conversion_fn_null_)
SESAME_FORTRAN_NAME(mpi_conversion_fn_null_f, mpi_conversion_fn_null__)
SESAME_FORTRAN_NAME(mpi_conversion_fn_null_f, MPI_CONVERSION_FN_NULL)

SESAME_ENTRY void ompi_register_datarep_f(const char* name, Function read, Function write,
                                          Function extent, Aint* extra_state, Fint* ierror,
                                          int name_length) {
  CallScope call(CallId::Register_datarep);
  const Function none = untyped(mpi_conversion_fn_null_f);
  auto* datarep = new FortranDatarep{read, write, extent, extra_state};
  const int outcome =
      mpi::Register_datarep(fortran_text(name, name_length).c_str(),
                            read == none ? nullptr : untyped(convert<&FortranDatarep::read>),
                            write == none ? nullptr : untyped(convert<&FortranDatarep::write>),
                            untyped(file_extent), datarep, false);
  set_error(ierror, outcome);
}
SESAME_FORTRAN(Register_datarep, register_datarep, REGISTER_DATAREP)

// MPI_COMM_DUP_FN and its kin, in Fortran's form: keep the value, drop it, do nothing at its end.
#define SESAME_FORTRAN_FUNCTION(name, UPPER)           \
  SESAME_FORTRAN_NAME(ompi_##name##_f, mpi_##name)     \
  SESAME_FORTRAN_NAME(ompi_##name##_f, mpi_##name##_)  \
  SESAME_FORTRAN_NAME(ompi_##name##_f, mpi_##name##__) \
  SESAME_FORTRAN_NAME(ompi_##name##_f, MPI_##UPPER)
#define SESAME_FORTRAN_ATTRIBUTE_FUNCTIONS(of, OF, Integer)                                       \
  SESAME_ENTRY void ompi_##of##dup_fn_f(Fint*, Fint*, Integer*, Integer* in, Integer* out,        \
                                        Fint* flag, Fint* ierror) {                               \
    *out = *in;                                                                                   \
    *flag = 1;                                                                                    \
    *ierror = MPI_SUCCESS;                                                                        \
  }                                                                                               \
  SESAME_ENTRY void ompi_##of##null_copy_fn_f(Fint*, Fint*, Integer*, Integer*, Integer*,         \
                                              Fint* flag, Fint* ierror) {                         \
    *flag = 0;                                                                                    \
    *ierror = MPI_SUCCESS;                                                                        \
  }                                                                                               \
  SESAME_ENTRY void ompi_##of##null_delete_fn_f(Fint*, Fint*, Integer*, Integer*, Fint* ierror) { \
    *ierror = MPI_SUCCESS;                                                                        \
  }                                                                                               \
  SESAME_FORTRAN_FUNCTION(of##dup_fn, OF##DUP_FN)                                                 \
  SESAME_FORTRAN_FUNCTION(of##null_copy_fn, OF##NULL_COPY_FN)                                     \
  SESAME_FORTRAN_FUNCTION(of##null_delete_fn, OF##NULL_DELETE_FN)
SESAME_FORTRAN_ATTRIBUTE_FUNCTIONS(, , Fint)
SESAME_FORTRAN_ATTRIBUTE_FUNCTIONS(comm_, COMM_, Aint)
SESAME_FORTRAN_ATTRIBUTE_FUNCTIONS(type_, TYPE_, Aint)
SESAME_FORTRAN_ATTRIBUTE_FUNCTIONS(win_, WIN_, Aint)
#undef SESAME_FORTRAN_ATTRIBUTE_FUNCTIONS
#undef SESAME_FORTRAN_FUNCTION

}  // namespace sesame::abi
