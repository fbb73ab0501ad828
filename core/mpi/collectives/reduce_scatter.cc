#include "core/mpi/collectives/reduce_scatter.h"

#include <bit>

#include "core/mpi/api.h"
#include "core/mpi/collectives/open_mpi_rules.h"
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

// MPI_Scatterv of the result at rank 0.
void scatter_parts(Transfer& transfer, const void* result, void* receive, const Partition& parts,
                   const DatatypeRef& type) {
  std::vector<Count> counts;
  std::vector<Count> displacements;
  const int ranks = transfer.rank() == 0 ? transfer.size() : 0;
  for (int i = 0; i < ranks; ++i) {
    counts.push_back(parts.count(i));
    displacements.push_back(parts.begin(i));
  }
  const Launch now = Launch::now();
  scatterv(transfer, Source{result, 0, type},
           RankArray(IntArray(counts.data()), transfer.size(), now),
           RankArray(IntArray(displacements.data()), transfer.size(), now),
           Target{receive, parts.count(transfer.rank()), type}, 0);
}

}  // namespace

void reduce_scatter_by_root(Transfer& transfer, const void* send, void* receive,
                            const Partition& parts, const Reduction& reduction) {
  Reduction whole = reduction;
  whole.count = parts.total();
  TypedWorkspace result(transfer.rank() == 0 ? whole.count : 0, *reduction.type);
  if (transfer.is_blocking()) {
    reduce_intra(transfer, send, result.data(), whole, 0);
  } else {
    reduce_binomial(transfer, send, result.data(), whole, 0);
  }
  if (parts.is_block()) {
    const Count count = parts.count(0);
    scatter(transfer, Source{result.data(), count, reduction.type},
            Target{receive, count, reduction.type}, 0);
  } else {
    scatter_parts(transfer, result.data(), receive, parts, reduction.type);
  }
}

namespace {

open_mpi::ReduceScatter choose_as_open_mpi(const Partition& parts, const Reduction& reduction) {
  const Count size = reduction.type->size();
  const bool commutes = reduction.is_commutative();
  return parts.is_block()
             ? open_mpi::choose_reduce_scatter_block(parts.ranks(), parts.count(0) * size, commutes)
             : open_mpi::choose_reduce_scatter(parts.ranks(), parts.total() * size, commutes);
}

// The ring of Open MPI has the same messages as the pairwise exchange, between other ranks. Its
// butterfly is the mirrored exchange, and where that does not serve, recursive halving.
void reduce_scatter_as_open_mpi(Transfer& transfer, const void* send, void* receive,
                                const Partition& parts, const Reduction& reduction) {
  using enum open_mpi::ReduceScatter;
  if (!transfer.is_blocking())
    return reduce_scatter_by_root(transfer, send, receive, parts, reduction);
  switch (choose_as_open_mpi(parts, reduction)) {
    case kReduceScatterv:
      return reduce_scatter_by_root(transfer, send, receive, parts, reduction);
    case kHalving:
      return reduce_scatter_halving(transfer, send, receive, parts, reduction);
    case kPairwise:
      return reduce_scatter_pairwise(transfer, send, receive, parts, reduction);
    case kMirrored:
      if (!parts.is_uniform() || !std::has_single_bit(static_cast<unsigned>(transfer.size())))
        return reduce_scatter_halving(transfer, send, receive, parts, reduction);
      return reduce_scatter_mirrored(transfer, send, receive, parts, reduction);
    case kDoubling:
      return reduce_scatter_doubling(transfer, send, receive, parts, reduction);
  }
}

int reduce_scatter_intra(Transfer& transfer, const void* send, void* receive,
                         const Partition& parts, const Reduction& reduction) {
  if (parts.total() == 0) return MPI_SUCCESS;
  transfer.begin_together();
  if (send == MPI_IN_PLACE) send = receive;
  const Count bytes = parts.total() * reduction.type->size();
  if (open_mpi::is_followed()) {
    reduce_scatter_as_open_mpi(transfer, send, receive, parts, reduction);
  } else if (reduction.is_commutative()) {
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
  const int rank = transfer.rank();
  const Count total = parts.total();
  Reduction whole = reduction;
  whole.count = total;
  TypedWorkspace result(rank == 0 ? total : 0, *reduction.type);
  const int my_root = rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
  const bool low = transfer.comm().low_group;
  int error = reduce(transfer, send, result.data(), whole, low ? my_root : 0);
  error = first_error(error, reduce(transfer, send, result.data(), whole, low ? 0 : my_root));
  Transfer local = transfer.local();
  scatter_parts(local, result.data(), receive, parts, reduction.type);
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
