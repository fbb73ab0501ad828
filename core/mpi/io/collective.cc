#include "core/mpi/collectives/barrier.h"
#include "core/mpi/errors.h"
#include "core/mpi/io/transfer_file.h"

namespace sesame::mpi {

int access_collective(Strand& strand, Transfer& transfer, FileObject& file, FileRequest& request) {
  MPI_TRY(collectives::barrier(transfer));
  return access_independent(strand, file, request);
}

}  // namespace sesame::mpi
