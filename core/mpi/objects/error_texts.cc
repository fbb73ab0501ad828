#include "core/mpi/objects/errors.h"

namespace sesame::mpi {
namespace {

struct ClassText {
  int error_class;
  const char* text;
};

constexpr ClassText kTexts[] = {
    {MPI_SUCCESS, "no error"},
    {MPI_ERR_BUFFER, "invalid buffer address"},
    {MPI_ERR_COUNT, "invalid count"},
    {MPI_ERR_TYPE, "invalid datatype"},
    {MPI_ERR_TAG, "invalid tag"},
    {MPI_ERR_COMM, "invalid communicator"},
    {MPI_ERR_RANK, "invalid rank"},
    {MPI_ERR_ROOT, "invalid root"},
    {MPI_ERR_GROUP, "invalid group"},
    {MPI_ERR_OP, "invalid reduction operation"},
    {MPI_ERR_TOPOLOGY, "invalid topology"},
    {MPI_ERR_DIMS, "invalid dimensions"},
    {MPI_ERR_ARG, "invalid argument"},
    {MPI_ERR_UNKNOWN, "unknown error"},
    {MPI_ERR_TRUNCATE, "message longer than the receive buffer"},
    {MPI_ERR_OTHER, "error"},
    {MPI_ERR_INTERN, "internal error"},
    {MPI_ERR_IN_STATUS, "the error codes are in the statuses"},
    {MPI_ERR_PENDING, "the request is pending"},
    {MPI_ERR_REQUEST, "invalid request"},
    {MPI_ERR_ACCESS, "permission denied"},
    {MPI_ERR_AMODE, "invalid access mode"},
    {MPI_ERR_BAD_FILE, "invalid file name"},
    {MPI_ERR_CONVERSION, "error in a data conversion function"},
    {MPI_ERR_DUP_DATAREP, "the data representation is defined already"},
    {MPI_ERR_FILE_EXISTS, "the file exists"},
    {MPI_ERR_FILE_IN_USE, "the file is in use"},
    {MPI_ERR_FILE, "invalid file handle"},
    {MPI_ERR_INFO, "invalid info"},
    {MPI_ERR_INFO_KEY, "invalid info key"},
    {MPI_ERR_INFO_VALUE, "invalid info value"},
    {MPI_ERR_INFO_NOKEY, "no such info key"},
    {MPI_ERR_IO, "input or output error"},
    {MPI_ERR_NAME, "no such service name"},
    {MPI_ERR_NO_MEM, "out of memory"},
    {MPI_ERR_NOT_SAME, "an argument differs between ranks"},
    {MPI_ERR_NO_SPACE, "no space left"},
    {MPI_ERR_NO_SUCH_FILE, "no such file"},
    {MPI_ERR_PORT, "invalid port name"},
    {MPI_ERR_QUOTA, "quota exceeded"},
    {MPI_ERR_READ_ONLY, "read-only file or file system"},
    {MPI_ERR_SERVICE, "invalid service name"},
    {MPI_ERR_SPAWN, "cannot start processes"},
    {MPI_ERR_UNSUPPORTED_DATAREP, "unsupported data representation"},
    {MPI_ERR_UNSUPPORTED_OPERATION, "unsupported operation"},
    {MPI_ERR_WIN, "invalid window"},
    {MPI_ERR_BASE, "invalid base address"},
    {MPI_ERR_LOCKTYPE, "invalid lock type"},
    {MPI_ERR_KEYVAL, "invalid keyval"},
    {MPI_ERR_RMA_CONFLICT, "conflicting accesses to a window"},
    {MPI_ERR_RMA_SYNC, "wrong synchronisation of accesses to a window"},
    {MPI_ERR_SIZE, "invalid size"},
    {MPI_ERR_DISP, "invalid displacement"},
    {MPI_ERR_ASSERT, "invalid assertion"},
    {MPI_ERR_RMA_RANGE, "target memory outside the window"},
    {MPI_ERR_RMA_ATTACH, "memory cannot be attached"},
    {MPI_ERR_RMA_SHARED, "memory cannot be shared"},
    {MPI_ERR_RMA_FLAVOR, "the window is of another flavor"},
    {MPI_ERR_SESSION, "invalid session"},
    {MPI_ERR_PROC_ABORTED, "a process has aborted"},
    {MPI_ERR_VALUE_TOO_LARGE, "a value does not fit its argument"},
    {MPI_ERR_ERRHANDLER, "invalid error handler"},
    {MPI_ERR_ABI, "mismatch of binary interfaces"},
};

}  // namespace

const char* error_class_text(int error_class) {
  for (const ClassText& entry : kTexts) {
    if (entry.error_class == error_class) return entry.text;
  }
  return "unknown error";
}

bool is_error_class(int error_class) {
  for (const ClassText& entry : kTexts) {
    if (entry.error_class == error_class) return true;
  }
  return false;
}

}  // namespace sesame::mpi
