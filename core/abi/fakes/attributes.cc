// Fakes of the functions that only a Fortran layer calls.
#include "core/mpi/objects/callbacks.h"

namespace sesame::mpi {

int seen_keyval;
int Comm_get_attribute(Comm, int keyval, AttributeType, void*, int*) {
  seen_keyval = keyval;
  return MPI_SUCCESS;
}
int Comm_set_attribute(Comm, int, AttributeType, void*) { return MPI_SUCCESS; }
int Type_get_attribute(Datatype, int, AttributeType, void*, int*) { return MPI_SUCCESS; }
int Type_set_attribute(Datatype, int, AttributeType, void*) { return MPI_SUCCESS; }
int Win_get_attribute(Win, int keyval, AttributeType, void*, int*) {
  seen_keyval = keyval;
  return MPI_SUCCESS;
}
int Win_set_attribute(Win, int, AttributeType, void*) { return MPI_SUCCESS; }
void Keyval_set_proxies(int, Function, Function) {}
void Op_set_proxy(Op, Function) {}
void Errhandler_set_proxy(Errhandler, Function) {}
void Grequest_set_fortran(Request) {}

}  // namespace sesame::mpi
