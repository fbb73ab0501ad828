#include "core/mpi/collectives/barrier.h"

#include "core/mpi/io/strategies/strategies.h"
#include "core/mpi/objects/errors.h"

namespace sesame::mpi {

int access_after_barrier(Strand& strand, Transfer& transfer, FileObject& file,
                         FileRequest& request) {
  MPI_TRY(collectives::barrier(transfer));
  return access_by_element(strand, file, request);
}

}  // namespace sesame::mpi
