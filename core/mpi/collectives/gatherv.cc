// MPI_Gatherv: only the root knows the counts, so that each rank sends to it directly.
#include "core/mpi/api.h"
#include "core/mpi/collectives/gather.h"
#include "core/mpi/collectives/validate.h"
#include "core/mpi/collectives/workspace.h"

namespace sesame::mpi {
namespace collectives {

int gatherv(Transfer& transfer, const Source& mine, const Target& all, const RankArray& counts,
            const RankArray& displacements, int root) {
  const CommObject& comm = transfer.comm();
  if (is_idle(comm, root)) return MPI_SUCCESS;
  if (!is_root(comm, root)) {
    if (mine.bytes() > 0) transfer.send(mine.data, mine.count, *mine.type, root);
    return transfer.error();
  }
  const int senders = transfer.remote_size();
  RequestBatch receives(static_cast<size_t>(senders));
  for (int i = 0; i < senders; ++i) {
    if (counts[i] == 0 || all.type->size() == 0) continue;
    void* const part = all.at(displacements[i]);
    if (!comm.is_inter && i == comm.rank) {
      if (!mine.is_in_place()) {
        copy_own(transfer, mine.data, mine.count, *mine.type, part, counts[i], *all.type);
      }
    } else {
      transfer.start_receive(receives.next(), part, counts[i], *all.type, i);
    }
  }
  transfer.wait_all(receives.started());
  return transfer.error();
}

namespace {

// Checks only the arguments that MPI uses on this rank.
int check_gatherv_buffers(const CommObject& comm, int root, const void* sendbuf, Count sendcount,
                          Datatype sendtype, void* recvbuf, IntArray recvcounts, IntArray displs,
                          Datatype recvtype, Source* mine, Target* all) {
  if (is_idle(comm, root)) return MPI_SUCCESS;
  if (!is_root(comm, root)) return check_source(sendbuf, sendcount, sendtype, mine);
  MPI_TRY(check_target_blocks(recvbuf, recvcounts, comm.remote_size(), recvtype, all));
  if (comm.is_inter) return MPI_SUCCESS;
  MPI_TRY(check_source_or_in_place(comm, sendbuf, sendcount, sendtype, mine));
  if (sendcount == 0) return MPI_SUCCESS;
  return check_distinct(mine->data, all->at(displs[static_cast<size_t>(comm.rank)]));
}

int launch_gatherv(const Launch& launch, const void* sendbuf, Count sendcount, Datatype sendtype,
                   void* recvbuf, IntArray recvcounts, IntArray displs, Datatype recvtype, int root,
                   Comm comm) {
  CommObject* object = nullptr;
  Source mine;
  Target all;
  MPI_TRY(check_comm(comm, &object));
  MPI_TRY(check_root(*object, root));
  MPI_TRY(check_gatherv_buffers(*object, root, sendbuf, sendcount, sendtype, recvbuf, recvcounts,
                                displs, recvtype, &mine, &all));
  record_call(*object, mine.type ? mine.bytes() : 0, root);
  const int blocks = is_root(*object, root) ? object->remote_size() : 0;
  return launch(
      *object, root_signature(root),
      [mine = std::move(mine), all = std::move(all), counts = RankArray(recvcounts, blocks, launch),
       displacements = RankArray(displs, blocks, launch), root](Transfer& transfer) {
        return gatherv(transfer, mine, all, counts, displacements, root);
      });
}

}  // namespace
}  // namespace collectives

using collectives::Launch;
using collectives::launch_gatherv;

int Gatherv(const void* sendbuf, Count sendcount, Datatype sendtype, void* recvbuf,
            IntArray recvcounts, IntArray displs, Datatype recvtype, int root, Comm comm) {
  return launch_gatherv(Launch::now(), sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs,
                        recvtype, root, comm);
}
int Igatherv(const void* sendbuf, Count sendcount, Datatype sendtype, void* recvbuf,
             IntArray recvcounts, IntArray displs, Datatype recvtype, int root, Comm comm,
             Request* request) {
  return launch_gatherv(Launch::start(request), sendbuf, sendcount, sendtype, recvbuf, recvcounts,
                        displs, recvtype, root, comm);
}
int Gatherv_init(const void* sendbuf, Count sendcount, Datatype sendtype, void* recvbuf,
                 IntArray recvcounts, IntArray displs, Datatype recvtype, int root, Comm comm, Info,
                 Request* request) {
  return launch_gatherv(Launch::prepare(request), sendbuf, sendcount, sendtype, recvbuf, recvcounts,
                        displs, recvtype, root, comm);
}

}  // namespace sesame::mpi
