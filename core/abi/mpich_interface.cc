// Entry points of the MPICH interface that are not generated: conversions between C and
// Fortran, which are identities here, and queries about the interface.
#include <cstring>

#include "core/abi/handles.h"
#include "core/abi/narrow.h"
#include "core/abi/version.h"
#include "core/mpi/io/file_handle.h"

namespace sesame::abi {

const void* handles_of_program(const mpi::Rank&) { return nullptr; }

#define SESAME_CONVERSIONS(Handle, name)                                  \
  SESAME_ENTRY Fint MPI_##name##_c2f(Handle handle) { return handle; }    \
  SESAME_PROFILE(MPI_##name##_c2f)                                        \
  SESAME_ENTRY Handle MPI_##name##_f2c(Fint handle) { return handle; }    \
  SESAME_PROFILE(MPI_##name##_f2c)                                        \
  SESAME_ENTRY int MPI_##name##_toint(Handle handle) { return handle; }   \
  SESAME_PROFILE(MPI_##name##_toint)                                      \
  SESAME_ENTRY Handle MPI_##name##_fromint(int handle) { return handle; } \
  SESAME_PROFILE(MPI_##name##_fromint)

SESAME_CONVERSIONS(Comm, Comm)
SESAME_CONVERSIONS(Datatype, Type)
SESAME_CONVERSIONS(Errhandler, Errhandler)
SESAME_CONVERSIONS(Group, Group)
SESAME_CONVERSIONS(Info, Info)
SESAME_CONVERSIONS(Message, Message)
SESAME_CONVERSIONS(Op, Op)
SESAME_CONVERSIONS(Request, Request)
SESAME_CONVERSIONS(Session, Session)
SESAME_CONVERSIONS(Win, Win)
#undef SESAME_CONVERSIONS

// A file is a pointer in C, whose value is the number that it is in Fortran.
#define SESAME_FILE_CONVERSIONS(to_integer, from_integer)                               \
  SESAME_ENTRY int MPI_File_##to_integer(File file) { return file_number(file); }       \
  SESAME_PROFILE(MPI_File_##to_integer)                                                 \
  SESAME_ENTRY File MPI_File_##from_integer(int number) { return file_handle(number); } \
  SESAME_PROFILE(MPI_File_##from_integer)

SESAME_FILE_CONVERSIONS(c2f, f2c)
SESAME_FILE_CONVERSIONS(toint, fromint)
#undef SESAME_FILE_CONVERSIONS

// A status has the same layout in C, in Fortran and in the module mpi_f08.
#define SESAME_STATUS_CONVERSION(name, From, To)    \
  SESAME_ENTRY int name(const From* from, To* to) { \
    std::memcpy(to, from, sizeof(Status));          \
    return MPI_SUCCESS;                             \
  }                                                 \
  SESAME_PROFILE(name)

SESAME_STATUS_CONVERSION(MPI_Status_c2f, Status, Fint)
SESAME_STATUS_CONVERSION(MPI_Status_c2f08, Status, Status)
SESAME_STATUS_CONVERSION(MPI_Status_f082c, Status, Status)
SESAME_STATUS_CONVERSION(MPI_Status_f082f, Status, Fint)
SESAME_STATUS_CONVERSION(MPI_Status_f2c, Fint, Status)
SESAME_STATUS_CONVERSION(MPI_Status_f2f08, Fint, Status)
#undef SESAME_STATUS_CONVERSION

SESAME_ENTRY int MPI_Get_version(int* version, int* subversion) {
  *version = 4;
  *subversion = 0;
  return MPI_SUCCESS;
}
SESAME_PROFILE(MPI_Get_version)

// Answers to MPI 5's queries about the standard interface, which this is not.
SESAME_ENTRY int MPI_Abi_get_version(int* abi_major, int* abi_minor) {
  *abi_major = -1;
  *abi_minor = -1;
  return MPI_SUCCESS;
}
SESAME_PROFILE(MPI_Abi_get_version)

SESAME_ENTRY int MPI_Get_library_version(char* version, int* length) {
  *length = write_library_version("MPICH", version);
  return MPI_SUCCESS;
}
SESAME_PROFILE(MPI_Get_library_version)

// No memory of the modelled machine is a GPU's.
SESAME_ENTRY int MPIX_GPU_query_support(int, int* is_supported) {
  *is_supported = 0;
  return MPI_SUCCESS;
}
SESAME_PROFILE(MPIX_GPU_query_support)
SESAME_ENTRY int MPIX_Query_cuda_support() { return 0; }
SESAME_PROFILE(MPIX_Query_cuda_support)
SESAME_ENTRY int MPIX_Query_hip_support() { return 0; }
SESAME_PROFILE(MPIX_Query_hip_support)
SESAME_ENTRY int MPIX_Query_ze_support() { return 0; }
SESAME_PROFILE(MPIX_Query_ze_support)

}  // namespace sesame::abi
