// MPI_Reduce_local: combines two buffers of one rank; no message.
#include "core/mpi/api.h"
#include "core/mpi/collectives/validate.h"

namespace sesame::mpi {

int Reduce_local(const void* inbuf, void* inoutbuf, Count count, Datatype datatype, Op op) {
  using namespace collectives;
  Reduction reduction;
  const DatatypeObject* type = nullptr;
  MPI_TRY(check_reduction(count, datatype, op, &reduction));
  MPI_TRY(check_not_in_place(inbuf));
  MPI_TRY(check_not_in_place(inoutbuf));
  MPI_TRY(check_buffer(inbuf, count, datatype, &type));
  MPI_TRY(check_buffer(inoutbuf, count, datatype, &type));
  if (count > 0) MPI_TRY(check_distinct(inbuf, inoutbuf));
  reduction.combine(inbuf, inoutbuf, count);
  return MPI_SUCCESS;
}

}  // namespace sesame::mpi
