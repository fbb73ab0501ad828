#include "core/mpi/collectives/reduce_scatter.h"

#include <bit>

#include "core/mpi/api.h"
#include "core/mpi/collectives/reduce.h"
#include "core/mpi/collectives/scatter.h"
#include "core/mpi/collectives/thresholds.h"
#include "core/mpi/collectives/validate.h"
#include "core/mpi/collectives/workspace.h"

namespace sesame::mpi {
namespace collectives {

Partition::Partition(const RankArray& counts, int ranks)
    : ranks_(ranks), begins_(static_cast<size_t>(ranks) + 1) {
  for (int i = 0; i < ranks; ++i) {
    begins_[static_cast<size_t>(i) + 1] = begins_[static_cast<size_t>(i)] + counts[i];
  }
}

bool Partition::is_uniform() const {
  if (begins_.empty()) return true;
  for (int i = 1; i < ranks_; ++i) {
    if (count(i) != count(0)) return false;
  }
  return true;
}

namespace {

int reduce_scatter_intra(Transfer& transfer, const void* send, void* receive,
                         const Partition& parts, const Reduction& reduction) {
  if (parts.total() == 0) return MPI_SUCCESS;
  if (send == MPI_IN_PLACE) send = receive;
  const Count bytes = parts.total() * reduction.type->size();
  if (reduction.is_commutative()) {
    if (bytes < kThresholds.reduce_scatter_long) {
      reduce_scatter_halving(transfer, send, receive, parts, reduction);
    } else {
      reduce_scatter_pairwise(transfer, send, receive, parts, reduction);
    }
  } else if (parts.is_uniform() && std::has_single_bit(static_cast<unsigned>(transfer.size()))) {
    reduce_scatter_mirrored(transfer, send, receive, parts, reduction);
  } else {
    reduce_scatter_doubling(transfer, send, receive, parts, reduction);
  }
  return transfer.error();
}

// Each group's vectors are reduced at rank 0 of the other, which scatters the result there; those
// of the high group first.
int reduce_scatter_inter(Transfer& transfer, const void* send, void* receive,
                         const Partition& parts, const Reduction& reduction) {
  const int size = transfer.size();
  const int rank = transfer.rank();
  const Count total = parts.total();
  Reduction whole = reduction;
  whole.count = total;
  TypedWorkspace result(rank == 0 ? total : 0, *reduction.type);
  const int my_root = rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
  const bool low = transfer.comm().low_group;
  int error = reduce(transfer, send, result.data(), whole, low ? my_root : 0);
  error = first_error(error, reduce(transfer, send, result.data(), whole, low ? 0 : my_root));
  std::vector<Count> counts;
  std::vector<Count> displacements;
  for (int i = 0; rank == 0 && i < size; ++i) {
    counts.push_back(parts.count(i));
    displacements.push_back(parts.begin(i));
  }
  Transfer local = transfer.local();
  const Launch now = Launch::now();
  scatterv(local, Source{result.data(), 0, reduction.type},
           RankArray(IntArray(counts.data()), size, now),
           RankArray(IntArray(displacements.data()), size, now),
           Target{receive, parts.count(rank), reduction.type}, 0);
  return first_error(error, local.error());
}

int check_parts(const CommObject& comm, const void* sendbuf, void* recvbuf, Reduction* reduction,
                const Partition& parts) {
  reduction->count = parts.total();
  MPI_TRY(check_reduction_buffers(comm, sendbuf, recvbuf, *reduction));
  record_call(comm, reduction->bytes());
  return MPI_SUCCESS;
}

int launch_parts(const Launch& launch, CommObject& comm, const void* sendbuf, void* recvbuf,
                 Partition parts, Reduction reduction) {
  MPI_TRY(check_parts(comm, sendbuf, recvbuf, &reduction, parts));
  const CollectiveSignature signature = collective_signature(reduction);
  return launch(comm, signature,
                [sendbuf, recvbuf, parts = std::move(parts),
                 reduction = std::move(reduction)](Transfer& transfer) {
                  return reduce_scatter(transfer, sendbuf, recvbuf, parts, reduction);
                });
}

int launch_reduce_scatter(const Launch& launch, const void* sendbuf, void* recvbuf,
                          IntArray recvcounts, Datatype datatype, Op op, Comm comm) {
  CommObject* object = nullptr;
  Reduction reduction;
  MPI_TRY(check_comm(comm, &object));
  MPI_TRY(check_reduction(0, datatype, op, &reduction));
  MPI_TRY(check_counts(recvcounts, object->size()));
  Partition parts(RankArray(recvcounts, object->size(), Launch::now()), object->size());
  return launch_parts(launch, *object, sendbuf, recvbuf, std::move(parts), std::move(reduction));
}

int launch_reduce_scatter_block(const Launch& launch, const void* sendbuf, void* recvbuf,
                                Count recvcount, Datatype datatype, Op op, Comm comm) {
  CommObject* object = nullptr;
  Reduction reduction;
  MPI_TRY(check_comm(comm, &object));
  MPI_TRY(check_reduction(recvcount, datatype, op, &reduction));
  return launch_parts(launch, *object, sendbuf, recvbuf, Partition(recvcount, object->size()),
                      std::move(reduction));
}

}  // namespace

int reduce_scatter(Transfer& transfer, const void* send, void* receive, const Partition& parts,
                   const Reduction& reduction) {
  return transfer.comm().is_inter ? reduce_scatter_inter(transfer, send, receive, parts, reduction)
                                  : reduce_scatter_intra(transfer, send, receive, parts, reduction);
}

}  // namespace collectives

using collectives::Launch;
using collectives::launch_reduce_scatter;
using collectives::launch_reduce_scatter_block;

int Reduce_scatter(const void* sendbuf, void* recvbuf, IntArray recvcounts, Datatype datatype,
                   Op op, Comm comm) {
  return launch_reduce_scatter(Launch::now(), sendbuf, recvbuf, recvcounts, datatype, op, comm);
}
int Ireduce_scatter(const void* sendbuf, void* recvbuf, IntArray recvcounts, Datatype datatype,
                    Op op, Comm comm, Request* request) {
  return launch_reduce_scatter(Launch::start(request), sendbuf, recvbuf, recvcounts, datatype, op,
                               comm);
}
int Reduce_scatter_init(const void* sendbuf, void* recvbuf, IntArray recvcounts, Datatype datatype,
                        Op op, Comm comm, Info, Request* request) {
  return launch_reduce_scatter(Launch::prepare(request), sendbuf, recvbuf, recvcounts, datatype, op,
                               comm);
}

int Reduce_scatter_block(const void* sendbuf, void* recvbuf, Count recvcount, Datatype datatype,
                         Op op, Comm comm) {
  return launch_reduce_scatter_block(Launch::now(), sendbuf, recvbuf, recvcount, datatype, op,
                                     comm);
}
int Ireduce_scatter_block(const void* sendbuf, void* recvbuf, Count recvcount, Datatype datatype,
                          Op op, Comm comm, Request* request) {
  return launch_reduce_scatter_block(Launch::start(request), sendbuf, recvbuf, recvcount, datatype,
                                     op, comm);
}
int Reduce_scatter_block_init(const void* sendbuf, void* recvbuf, Count recvcount,
                              Datatype datatype, Op op, Comm comm, Info, Request* request) {
  return launch_reduce_scatter_block(Launch::prepare(request), sendbuf, recvbuf, recvcount,
                                     datatype, op, comm);
}

}  // namespace sesame::mpi
