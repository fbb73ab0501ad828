// Entry points of the MPI 5 standard interface that are not generated: conversions of handles
// to integers, and queries about the interface.
#include "core/abi/handles.h"
#include "core/abi/mpiabi_types.h"
#include "core/abi/narrow.h"
#include "core/abi/translate.h"
#include "core/abi/version.h"

namespace sesame::abi {

const void* handles_of_program(const mpi::Rank&) { return nullptr; }

#define SESAME_CONVERSIONS(Handle, name)                          \
  SESAME_ENTRY int MPI_##name##_toint(Handle handle) {            \
    return static_cast<int>(static_cast<uint32_t>(handle.value)); \
  }                                                               \
  SESAME_PROFILE(MPI_##name##_toint)                              \
  SESAME_ENTRY Handle MPI_##name##_fromint(int handle) {          \
    return Handle{static_cast<uint32_t>(handle)};                 \
  }                                                               \
  SESAME_PROFILE(MPI_##name##_fromint)

SESAME_CONVERSIONS(AbiComm, Comm)
SESAME_CONVERSIONS(AbiDatatype, Type)
SESAME_CONVERSIONS(AbiErrhandler, Errhandler)
SESAME_CONVERSIONS(AbiFile, File)
SESAME_CONVERSIONS(AbiGroup, Group)
SESAME_CONVERSIONS(AbiInfo, Info)
SESAME_CONVERSIONS(AbiMessage, Message)
SESAME_CONVERSIONS(AbiOp, Op)
SESAME_CONVERSIONS(AbiRequest, Request)
SESAME_CONVERSIONS(AbiSession, Session)
SESAME_CONVERSIONS(AbiWin, Win)
#undef SESAME_CONVERSIONS

SESAME_ENTRY int MPI_Get_version(int* version, int* subversion) {
  *version = 5;
  *subversion = 0;
  return MPI_SUCCESS;
}
SESAME_PROFILE(MPI_Get_version)

SESAME_ENTRY int MPI_Abi_get_version(int* abi_major, int* abi_minor) {
  *abi_major = 1;
  *abi_minor = 0;
  return MPI_SUCCESS;
}
SESAME_PROFILE(MPI_Abi_get_version)

SESAME_ENTRY int MPI_Get_library_version(char* version, int* length) {
  *length = write_library_version("MPI 5 standard", version);
  return MPI_SUCCESS;
}
SESAME_PROFILE(MPI_Get_library_version)

}  // namespace sesame::abi
