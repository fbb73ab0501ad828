// Functions beside those of MPI that MPICH's own Fortran layer (libmpichfort.so.12,
// libmpifort.so.12: the application's files, which call our C functions) and its C++ layer call.
// Names and arguments are those of MPICH 4; programs call them only through these layers.
#include "core/abi/narrow.h"
#include "core/mpi/calls/call.h"
#include "core/mpi/calls/tools.h"
#include "core/mpi/objects/callbacks.h"

namespace sesame::abi {

// ---- Attributes whose values are Fortran integers ----

// Fortran's predefined keyvals are C's, which are odd, plus one.
static int predefined_in(int keyval) {
  const bool is_predefined = (keyval > MPI_TAG_UB && keyval <= MPI_APPNUM + 1) ||
                             (keyval > MPI_WIN_BASE && keyval <= MPI_WIN_MODEL + 1);
  return is_predefined && keyval % 2 == 0 ? keyval - 1 : keyval;
}

SESAME_ENTRY int MPII_Comm_get_attr(Comm comm, int keyval, void* value, int* flag,
                                    AttributeType asked) {
  CallScope call(CallId::Comm_get_attr);
  const int error = Comm_get_attribute(comm, predefined_in(keyval), asked, value, flag);
  return call.finish_comm(error, comm);
}

SESAME_ENTRY int MPII_Comm_set_attr(Comm comm, int keyval, void* value, AttributeType type) {
  CallScope call(CallId::Comm_set_attr);
  return call.finish_comm(Comm_set_attribute(comm, keyval, type, value), comm);
}

SESAME_ENTRY int MPII_Type_get_attr(Datatype datatype, int keyval, void* value, int* flag,
                                    AttributeType asked) {
  CallScope call(CallId::Type_get_attr);
  return call.finish(Type_get_attribute(datatype, keyval, asked, value, flag));
}

SESAME_ENTRY int MPII_Type_set_attr(Datatype datatype, int keyval, void* value,
                                    AttributeType type) {
  CallScope call(CallId::Type_set_attr);
  return call.finish(Type_set_attribute(datatype, keyval, type, value));
}

SESAME_ENTRY int MPII_Win_get_attr(Win win, int keyval, void* value, int* flag,
                                   AttributeType asked) {
  CallScope call(CallId::Win_get_attr);
  const int error = Win_get_attribute(win, predefined_in(keyval), asked, value, flag);
  return call.finish_win(error, win);
}

SESAME_ENTRY int MPII_Win_set_attr(Win win, int keyval, void* value, AttributeType type) {
  CallScope call(CallId::Win_set_attr);
  return call.finish_win(Win_set_attribute(win, keyval, type, value), win);
}

// ---- Functions of the program that are Fortran's ----

SESAME_ENTRY void MPII_Keyval_set_proxy(int keyval, Function copy, Function remove) {
  Keyval_set_proxies(keyval, copy, remove);
}

SESAME_ENTRY void MPII_Grequest_set_lang_f77(Request request) { Grequest_set_fortran(request); }

// The C++ bindings, removed in MPI-3, tell here that a function has C++ arguments.
SESAME_ENTRY void MPII_Op_set_cxx(Op op, Function proxy) { Op_set_proxy(op, proxy); }

SESAME_ENTRY void MPII_Errhandler_set_cxx(Errhandler errhandler, Function proxy) {
  Errhandler_set_proxy(errhandler, proxy);
}

// ---- Data ----

#define SESAME_DATA(declaration) __attribute__((visibility("default"))) extern declaration
extern "C" {
// Constant addresses: C programs read these, mpi_f08 those with MPIR_C_.
SESAME_DATA(int* const MPI_UNWEIGHTED);
SESAME_DATA(int* const MPI_WEIGHTS_EMPTY);
SESAME_DATA(int* MPIR_C_MPI_UNWEIGHTED);
SESAME_DATA(int* MPIR_C_MPI_WEIGHTS_EMPTY);
SESAME_DATA(void* const MPI_T_PVAR_ALL_HANDLES);
// Where the module mpi_f08 keeps its ignored statuses. Required by MPI, used by no layer.
SESAME_DATA(Status* MPI_F08_STATUS_IGNORE);
SESAME_DATA(Status* MPI_F08_STATUSES_IGNORE);
// The addresses of Fortran's MPI_STATUS_IGNORE and MPI_STATUSES_IGNORE. The Fortran layer of a rank
// sets them at the rank's MPI_Init and compares with them later, so each rank needs variables of
// its own by these names; the loader gives them. These here are for tools that look for the names.
SESAME_DATA(Fint* MPI_F_STATUS_IGNORE);
SESAME_DATA(Fint* MPI_F_STATUSES_IGNORE);

int* const MPI_UNWEIGHTED = reinterpret_cast<int*>(kUnweightedAddress);
int* const MPI_WEIGHTS_EMPTY = reinterpret_cast<int*>(kWeightsEmptyAddress);
int* MPIR_C_MPI_UNWEIGHTED = reinterpret_cast<int*>(kUnweightedAddress);
int* MPIR_C_MPI_WEIGHTS_EMPTY = reinterpret_cast<int*>(kWeightsEmptyAddress);
void* const MPI_T_PVAR_ALL_HANDLES = mpi::MPI_T_PVAR_ALL_HANDLES;
Status* MPI_F08_STATUS_IGNORE = nullptr;
Status* MPI_F08_STATUSES_IGNORE = nullptr;
Fint* MPI_F_STATUS_IGNORE = nullptr;
Fint* MPI_F_STATUSES_IGNORE = nullptr;
}
#undef SESAME_DATA

}  // namespace sesame::abi
