// MPI_Scatterv: only the root knows the counts, so that it sends to each rank directly.
#include "core/mpi/api.h"
#include "core/mpi/collectives/scatter.h"
#include "core/mpi/collectives/validate.h"
#include "core/mpi/collectives/workspace.h"

namespace sesame::mpi {
namespace collectives {

int scatterv(Transfer& transfer, const Source& all, const RankArray& counts,
             const RankArray& displacements, const Target& mine, int root) {
  const CommObject& comm = transfer.comm();
  if (is_idle(comm, root)) return MPI_SUCCESS;
  if (!is_root(comm, root)) {
    if (mine.bytes() > 0) transfer.receive(mine.data, mine.count, *mine.type, root);
    return transfer.error();
  }
  const int receivers = transfer.remote_size();
  RequestBatch sends(static_cast<size_t>(receivers));
  for (int i = 0; i < receivers; ++i) {
    if (counts[i] == 0 || all.type->size() == 0) continue;
    const void* const part = all.at(displacements[i]);
    if (!comm.is_inter && i == comm.rank) {
      if (mine.data != MPI_IN_PLACE) {
        copy_own(transfer, part, counts[i], *all.type, mine.data, mine.count, *mine.type);
      }
    } else {
      transfer.start_send(sends.next(), part, counts[i], *all.type, i);
    }
  }
  transfer.wait_all(sends.started());
  return transfer.error();
}

namespace {

// Checks only the arguments that MPI uses on this rank.
int check_scatterv_buffers(const CommObject& comm, int root, const void* sendbuf,
                           IntArray sendcounts, IntArray displs, Datatype sendtype, void* recvbuf,
                           Count recvcount, Datatype recvtype, Source* all, Target* mine) {
  if (is_idle(comm, root)) return MPI_SUCCESS;
  if (!is_root(comm, root)) return check_target(recvbuf, recvcount, recvtype, mine);
  MPI_TRY(check_source_blocks(sendbuf, sendcounts, comm.remote_size(), sendtype, all));
  if (comm.is_inter) return MPI_SUCCESS;
  if (recvbuf == MPI_IN_PLACE) {
    mine->data = recvbuf;
    return MPI_SUCCESS;
  }
  MPI_TRY(check_target(recvbuf, recvcount, recvtype, mine));
  if (recvcount == 0) return MPI_SUCCESS;
  return check_distinct(all->at(displs[static_cast<size_t>(comm.rank)]), mine->data);
}

int launch_scatterv(const Launch& launch, const void* sendbuf, IntArray sendcounts, IntArray displs,
                    Datatype sendtype, void* recvbuf, Count recvcount, Datatype recvtype, int root,
                    Comm comm) {
  CommObject* object = nullptr;
  Source all;
  Target mine;
  MPI_TRY(check_comm(comm, &object));
  MPI_TRY(check_root(*object, root));
  MPI_TRY(check_scatterv_buffers(*object, root, sendbuf, sendcounts, displs, sendtype, recvbuf,
                                 recvcount, recvtype, &all, &mine));
  const int blocks = is_root(*object, root) ? object->remote_size() : 0;
  Count elements = 0;
  for (int i = 0; i < blocks; ++i) elements += sendcounts[static_cast<size_t>(i)];
  record_call(*object, blocks > 0 ? elements * all.type->size() : 0, root);
  return launch(*object, root_signature(root),
                [all = std::move(all), counts = RankArray(sendcounts, blocks, launch),
                 displacements = RankArray(displs, blocks, launch), mine = std::move(mine),
                 root](Transfer& transfer) {
                  return scatterv(transfer, all, counts, displacements, mine, root);
                });
}

}  // namespace
}  // namespace collectives

using collectives::Launch;
using collectives::launch_scatterv;

int Scatterv(const void* sendbuf, IntArray sendcounts, IntArray displs, Datatype sendtype,
             void* recvbuf, Count recvcount, Datatype recvtype, int root, Comm comm) {
  return launch_scatterv(Launch::now(), sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount,
                         recvtype, root, comm);
}
int Iscatterv(const void* sendbuf, IntArray sendcounts, IntArray displs, Datatype sendtype,
              void* recvbuf, Count recvcount, Datatype recvtype, int root, Comm comm,
              Request* request) {
  return launch_scatterv(Launch::start(request), sendbuf, sendcounts, displs, sendtype, recvbuf,
                         recvcount, recvtype, root, comm);
}
int Scatterv_init(const void* sendbuf, IntArray sendcounts, IntArray displs, Datatype sendtype,
                  void* recvbuf, Count recvcount, Datatype recvtype, int root, Comm comm, Info,
                  Request* request) {
  return launch_scatterv(Launch::prepare(request), sendbuf, sendcounts, displs, sendtype, recvbuf,
                         recvcount, recvtype, root, comm);
}

}  // namespace sesame::mpi
