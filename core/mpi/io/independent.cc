#include "core/mpi/errors.h"
#include "core/mpi/io/transfer_file.h"

namespace sesame::mpi {

int access_independent(Strand& strand, FileObject& file, FileRequest& request) {
  if (request.extents.empty()) return MPI_SUCCESS;
  return move(strand, file, request.direction, request.extents, request.data, &request.moved);
}

}  // namespace sesame::mpi
