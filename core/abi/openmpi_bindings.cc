// What Open MPI's C++ layer (libmpi_cxx.so.40, the application's file, which every program linked
// by mpicxx needs) takes from Open MPI's own libraries. Its classes stand on C functions, but for
// the functions here.
//
// The layer reaches the structures of Open MPI's objects through its own functions ompi_cxx_…
// (ompi/mpi/cxx/cxx_glue.c of Open MPI 4.1). Ours of the same names take their place
// (core/loader/resolve.cc). Functions of the program are called through functions of the layer,
// ompi_mpi_cxx_…, which make C++ objects of handles (intercepts.cc there).
#include <cstddef>
#include <cstdlib>

#include "core/abi/translate.h"
#include "core/mpi/api.h"
#include "core/mpi/calls/call.h"
#include "core/mpi/messages/world.h"

namespace sesame::abi {
namespace {

struct Opaque {
  // No smaller than Open MPI's variables of these names, of which the largest has 280 bytes.
  char bytes[512];
};

}  // namespace

// Variables that the functions which ours replace would use.
#define SESAME_OPAQUE(name)                                      \
  extern "C" __attribute__((visibility("default"))) Opaque name; \
  Opaque name = {};
SESAME_OPAQUE(ompi_errcode_intern_lastused)
SESAME_OPAQUE(ompi_errcodes_intern)
SESAME_OPAQUE(ompi_registered_datareps)
SESAME_OPAQUE(opal_class_init_epoch)
SESAME_OPAQUE(opal_list_item_t_class)
SESAME_OPAQUE(opal_uses_threads)
#undef SESAME_OPAQUE

// ---- Operations and attributes ----

// The operation was created with the layer's own function; `function` is that of the program.
SESAME_ENTRY void ompi_op_set_cxx_callback(AbiOp op, Function function) {
  Op_set_proxy(op_in(op), function);
}

// `copy` takes one argument more, which it does not use. The layer's extra state is not freed with
// the keyval: it is small.
#define SESAME_CREATE_KEYVAL(name, Call)                                                        \
  SESAME_ENTRY int ompi_cxx_attr_create_keyval_##name(Function copy, Function remove, int* key, \
                                                      void* extra_state, int, void*) {          \
    CallScope call(CallId::Call);                                                               \
    return error_out(mpi::Call(copy, remove, key, extra_state));                                \
  }
SESAME_CREATE_KEYVAL(comm, Comm_create_keyval)
SESAME_CREATE_KEYVAL(type, Type_create_keyval)
SESAME_CREATE_KEYVAL(win, Win_create_keyval)
#undef SESAME_CREATE_KEYVAL

// Which class of C++ a communicator belongs to.
enum CommunicatorClass { kUnknown, kIntracomm, kInterComm, kCartcomm, kGraphcomm };
SESAME_ENTRY CommunicatorClass ompi_cxx_comm_get_type(AbiComm handle) {
  const Comm comm = comm_in(handle);
  int is_inter = 0;
  int topology = MPI_UNDEFINED;
  if (mpi::Comm_test_inter(comm, &is_inter) != MPI_SUCCESS) return kUnknown;
  if (is_inter) return kInterComm;
  mpi::Topo_test(comm, &topology);
  if (topology == MPI_CART) return kCartcomm;
  return topology == MPI_GRAPH ? kGraphcomm : kIntracomm;
}

// ---- Error handlers ----

// The function of C++ is called through that of the layer.
static AbiErrhandler create_errhandler(int (*create)(Function, Errhandler*), Function function,
                                       const char* intercept) {
  mpi::Rank& rank = this_rank();
  Errhandler errhandler = MPI_ERRHANDLER_NULL;
  if (create(function, &errhandler) == MPI_SUCCESS) {
    const void* through = rank.world.hooks.program_function(rank, intercept);
    Errhandler_set_proxy(errhandler,
                         reinterpret_cast<Function>(reinterpret_cast<uintptr_t>(through)));
  }
  return AbiErrhandler::out(errhandler);
}
SESAME_ENTRY AbiErrhandler ompi_cxx_errhandler_create_comm(Function function) {
  CallScope call(CallId::Comm_create_errhandler);
  return create_errhandler(Comm_create_errhandler, function, "ompi_mpi_cxx_comm_errhandler_invoke");
}
SESAME_ENTRY AbiErrhandler ompi_cxx_errhandler_create_file(Function function) {
  CallScope call(CallId::File_create_errhandler);
  return create_errhandler(File_create_errhandler, function, "ompi_mpi_cxx_file_errhandler_invoke");
}
SESAME_ENTRY AbiErrhandler ompi_cxx_errhandler_create_win(Function function) {
  CallScope call(CallId::Win_create_errhandler);
  return create_errhandler(Win_create_errhandler, function, "ompi_mpi_cxx_win_errhandler_invoke");
}

SESAME_ENTRY int ompi_cxx_errhandler_invoke_comm(AbiComm comm, int error, const char*) {
  CallScope call(CallId::Comm_call_errhandler);
  return error_out(call.finish_comm(error_in(error), comm_in(comm)));
}
SESAME_ENTRY int ompi_cxx_errhandler_invoke_file(AbiFile file, int error, const char*) {
  CallScope call(CallId::File_call_errhandler);
  return error_out(call.finish_file(error_in(error), file_in(file)));
}

// MPI::Init gives the functions that MPI::ERRORS_THROW_EXCEPTIONS stands for. They do the same.
SESAME_ENTRY void ompi_cxx_errhandler_set_callbacks(void*, Function of_comm, Function, Function) {
  mpi::Errhandler_throw_by(of_comm);
}

// ---- Data representations ----

// What the layer's conversion functions get as extra state. A representation is never removed.
struct DatarepState {
  void* read;
  void* write;
  void* extent;
  void* extra_state;
};
SESAME_ENTRY DatarepState* ompi_cxx_new_intercept_state(void* read, void* write, void* extent,
                                                        void* extra_state) {
  return new DatarepState{read, write, extent, extra_state};
}

}  // namespace sesame::abi
