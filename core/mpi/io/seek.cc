#include "core/mpi/io/seek.h"

#include "core/mpi/io/file_errors.h"
#include "core/mpi/io/file_time.h"
#include "core/mpi/io/io_list.h"
#include "core/mpi/objects/errors.h"

namespace sesame::mpi {

int seek_target(const FileObject& file, int64_t position, Offset offset, int whence,
                int64_t* target) {
  switch (whence) {
    case MPI_SEEK_SET:
      *target = offset;
      break;
    case MPI_SEEK_CUR:
      *target = position + offset;
      break;
    case MPI_SEEK_END: {
      uint64_t bytes = 0;
      MPI_TRY(query_file_size(file, &bytes));
      *target = items_below(file.view, bytes) + offset;
      break;
    }
    default:
      return fail(MPI_ERR_ARG, "whence is none of MPI_SEEK_SET, MPI_SEEK_CUR and MPI_SEEK_END");
  }
  if (*target >= 0) return MPI_SUCCESS;
  return fail(MPI_ERR_ARG, "the seek leads before the beginning of the view");
}

int query_file_size(const FileObject& file, uint64_t* bytes) {
  yield_for_files(self());
  const int error = file.open->size(bytes);
  if (error == 0) return MPI_SUCCESS;
  return fail_host_call("ask for the size of", file.shared->name, error);
}

}  // namespace sesame::mpi
