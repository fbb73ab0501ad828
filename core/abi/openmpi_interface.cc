// Entry points of Open MPI's interface that the generator does not make: conversions between C and
// Fortran, the functions behind MPI_COMM_DUP_FN and the like, and what names the interface itself.
#include <cstring>

#include "core/abi/narrow.h"
#include "core/abi/openmpi_fortran.h"
#include "core/abi/translate.h"
#include "core/abi/version.h"

namespace sesame::abi {
namespace {

template <ConstantKind kind>
Fint fortran_of(AbiHandle<kind> handle) {
  return fortran_number<kind>(AbiHandle<kind>::in(handle));
}

template <ConstantKind kind>
AbiHandle<kind> from_fortran(Fint number) {
  return AbiHandle<kind>::out(from_fortran_number<kind>(number));
}

}  // namespace

#define SESAME_CONVERSIONS(Handle, name)                                            \
  SESAME_ENTRY Fint MPI_##name##_c2f(Handle handle) { return fortran_of(handle); }  \
  SESAME_PROFILE(MPI_##name##_c2f)                                                  \
  SESAME_ENTRY Handle MPI_##name##_f2c(Fint number) {                               \
    return from_fortran<Handle::kKind>(number);                                     \
  }                                                                                 \
  SESAME_PROFILE(MPI_##name##_f2c)                                                  \
  SESAME_ENTRY int MPI_##name##_toint(Handle handle) { return fortran_of(handle); } \
  SESAME_PROFILE(MPI_##name##_toint)                                                \
  SESAME_ENTRY Handle MPI_##name##_fromint(int number) {                            \
    return from_fortran<Handle::kKind>(number);                                     \
  }                                                                                 \
  SESAME_PROFILE(MPI_##name##_fromint)

SESAME_CONVERSIONS(AbiComm, Comm)
SESAME_CONVERSIONS(AbiDatatype, Type)
SESAME_CONVERSIONS(AbiErrhandler, Errhandler)
SESAME_CONVERSIONS(AbiGroup, Group)
SESAME_CONVERSIONS(AbiInfo, Info)
SESAME_CONVERSIONS(AbiMessage, Message)
SESAME_CONVERSIONS(AbiOp, Op)
SESAME_CONVERSIONS(AbiRequest, Request)
SESAME_CONVERSIONS(AbiSession, Session)
SESAME_CONVERSIONS(AbiWin, Win)
#undef SESAME_CONVERSIONS

// MPI_FILE_NULL is 0 in Fortran.
SESAME_ENTRY Fint MPI_File_c2f(AbiFile file) { return file_number(AbiFile::in(file)); }
SESAME_PROFILE(MPI_File_c2f)
SESAME_ENTRY AbiFile MPI_File_f2c(Fint number) { return AbiFile::out(file_handle(number)); }
SESAME_PROFILE(MPI_File_f2c)
SESAME_ENTRY int MPI_File_toint(AbiFile file) { return file_number(AbiFile::in(file)); }
SESAME_PROFILE(MPI_File_toint)
SESAME_ENTRY AbiFile MPI_File_fromint(int number) { return AbiFile::out(file_handle(number)); }
SESAME_PROFILE(MPI_File_fromint)

// A status has the same fields in C and in Fortran, as integers of four bytes.
static int copy_status(const void* from, void* to) {
  std::memcpy(to, from, sizeof(AbiStatus));
  return MPI_SUCCESS;
}
#define SESAME_STATUS_CONVERSION(name)                                                \
  SESAME_ENTRY int name(const void* from, void* to) { return copy_status(from, to); } \
  SESAME_PROFILE(name)
SESAME_STATUS_CONVERSION(MPI_Status_c2f)
SESAME_STATUS_CONVERSION(MPI_Status_f2c)
SESAME_STATUS_CONVERSION(MPI_Status_c2f08)
SESAME_STATUS_CONVERSION(MPI_Status_f082c)
SESAME_STATUS_CONVERSION(MPI_Status_f082f)
SESAME_STATUS_CONVERSION(MPI_Status_f2f08)
#undef SESAME_STATUS_CONVERSION

// Functions for attributes: keep the value, drop it, do nothing at its end.
static int duplicate_attribute(void* value, void* copy, int* keep) {
  *static_cast<void**>(copy) = value;
  *keep = 1;
  return MPI_SUCCESS;
}
#define SESAME_ATTRIBUTE_FUNCTIONS(prefix, dup, null_copy, null_delete)                          \
  SESAME_ENTRY int OMPI_C_MPI_##dup(uintptr_t, int, void*, void* value, void* copy, int* keep) { \
    return duplicate_attribute(value, copy, keep);                                               \
  }                                                                                              \
  SESAME_ENTRY int OMPI_C_MPI_##null_copy(uintptr_t, int, void*, void*, void*, int* keep) {      \
    *keep = 0;                                                                                   \
    return MPI_SUCCESS;                                                                          \
  }                                                                                              \
  SESAME_ENTRY int OMPI_C_MPI_##null_delete(uintptr_t, int, void*, void*) { return MPI_SUCCESS; }
SESAME_ATTRIBUTE_FUNCTIONS(COMM, COMM_DUP_FN, COMM_NULL_COPY_FN, COMM_NULL_DELETE_FN)
SESAME_ATTRIBUTE_FUNCTIONS(TYPE, TYPE_DUP_FN, TYPE_NULL_COPY_FN, TYPE_NULL_DELETE_FN)
SESAME_ATTRIBUTE_FUNCTIONS(WIN, WIN_DUP_FN, WIN_NULL_COPY_FN, WIN_NULL_DELETE_FN)
SESAME_ATTRIBUTE_FUNCTIONS(, DUP_FN, NULL_COPY_FN, NULL_DELETE_FN)
#undef SESAME_ATTRIBUTE_FUNCTIONS

// That of Open MPI 4.1; Open MPI 5 says the same.
SESAME_ENTRY int MPI_Get_version(int* version, int* subversion) {
  *version = 3;
  *subversion = 1;
  return MPI_SUCCESS;
}
SESAME_PROFILE(MPI_Get_version)

SESAME_ENTRY int MPI_Get_library_version(char* version, int* length) {
  *length = write_library_version("Open MPI", version);
  return MPI_SUCCESS;
}
SESAME_PROFILE(MPI_Get_library_version)

// Where the rank may run, as texts of up to 1,024 bytes (mpiext_affinity_c.h): what Open MPI bound
// it to, where it is bound now, and what there is.
SESAME_ENTRY int OMPI_Affinity_str(int, char* bound, char* now, char* there) {
  std::strcpy(bound, "not bound");
  std::strcpy(now, "not bound");
  std::strcpy(there, "not modelled");
  return MPI_SUCCESS;
}

// No memory of the modelled machine is a GPU's.
SESAME_ENTRY int MPIX_Query_cuda_support() { return 0; }
SESAME_PROFILE(MPIX_Query_cuda_support)
SESAME_ENTRY int MPIX_Query_rocm_support() { return 0; }
SESAME_PROFILE(MPIX_Query_rocm_support)

}  // namespace sesame::abi
