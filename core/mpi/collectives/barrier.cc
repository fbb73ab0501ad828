#include "core/mpi/collectives/barrier.h"

#include "core/mpi/api.h"
#include "core/mpi/collectives/bcast.h"
#include "core/mpi/collectives/validate.h"

namespace sesame::mpi {
namespace collectives {

void barrier_dissemination(Transfer& transfer) {
  const int size = transfer.size();
  const int rank = transfer.rank();
  for (int distance = 1; distance < size; distance *= 2) {
    transfer.send_receive(nullptr, 0, byte_type(), (rank + distance) % size, nullptr, 0,
                          byte_type(), (rank - distance + size) % size);
  }
}

namespace {

// A barrier inside each group, then a signal from each rank 0 to all ranks of the other group,
// first from that of the low group.
int barrier_inter(Transfer& transfer) {
  Transfer local = transfer.local();
  barrier_dissemination(local);
  char signal = 0;
  const Target target{&signal, 1, DatatypeRef(&byte_type())};
  const int my_root = transfer.rank() == 0 ? MPI_ROOT : MPI_PROC_NULL;
  const bool low = transfer.comm().low_group;
  MPI_TRY(bcast(transfer, target, low ? my_root : 0));
  return bcast(transfer, target, low ? 0 : my_root);
}

int launch_barrier(const Launch& launch, Comm comm) {
  CommObject* object = nullptr;
  MPI_TRY(check_comm(comm, &object));
  record_call(*object, 0);
  return launch(*object, {}, [](Transfer& transfer) { return barrier(transfer); });
}

}  // namespace

int barrier(Transfer& transfer) {
  if (transfer.comm().is_inter) return barrier_inter(transfer);
  barrier_dissemination(transfer);
  return transfer.error();
}

}  // namespace collectives

using collectives::Launch;

int Barrier(Comm comm) { return collectives::launch_barrier(Launch::now(), comm); }
int Ibarrier(Comm comm, Request* request) {
  return collectives::launch_barrier(Launch::start(request), comm);
}
int Barrier_init(Comm comm, Info, Request* request) {
  return collectives::launch_barrier(Launch::prepare(request), comm);
}

}  // namespace sesame::mpi
