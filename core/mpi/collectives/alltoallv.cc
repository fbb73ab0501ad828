#include "core/mpi/api.h"
#include "core/mpi/collectives/exchange.h"
#include "core/mpi/collectives/launch.h"
#include "core/mpi/collectives/open_mpi_rules.h"
#include "core/mpi/collectives/validate.h"

namespace sesame::mpi {
namespace collectives {
namespace {

// One side's blocks: `counts[i]` elements at `displacements[i]` for rank i.
struct OutBlocks {
  Source all;
  RankArray counts;
  RankArray displacements;

  OutBlock operator()(int rank) const {
    return {all.at(displacements[rank]), counts[rank], all.type.get()};
  }
};

struct InBlocks {
  Target all;
  RankArray counts;
  RankArray displacements;

  InBlock operator()(int rank) const {
    return {all.at(displacements[rank]), counts[rank], all.type.get()};
  }
};

int alltoallv(Transfer& transfer, const OutBlocks& out, const InBlocks& in) {
  if (transfer.comm().is_inter) {
    exchange_between_groups(transfer, out, in);
  } else if (out.all.is_in_place()) {
    exchange_in_place(transfer, in);
  } else if (!open_mpi::is_followed()) {
    exchange_as_mpich(transfer, out, in);
  } else if (transfer.is_blocking() &&
             open_mpi::choose_alltoallv(transfer.size()) == open_mpi::Alltoall::kPairwise) {
    exchange_pairwise(transfer, out, in);
  } else {
    exchange_as_open_mpi(transfer, out, in);
  }
  return transfer.error();
}

int launch_alltoallv(const Launch& launch, const void* sendbuf, IntArray sendcounts,
                     IntArray sdispls, Datatype sendtype, void* recvbuf, IntArray recvcounts,
                     IntArray rdispls, Datatype recvtype, Comm comm) {
  CommObject* object = nullptr;
  OutBlocks out;
  InBlocks in;
  MPI_TRY(check_comm(comm, &object));
  const int ranks = object->remote_size();
  Count bytes = 0;
  if (sendbuf == MPI_IN_PLACE && !object->is_inter) {
    out.all.data = sendbuf;
  } else {
    MPI_TRY(check_source_blocks(sendbuf, sendcounts, ranks, sendtype, &out.all));
    out.counts = RankArray(sendcounts, ranks, launch);
    out.displacements = RankArray(sdispls, ranks, launch);
    for (int i = 0; i < ranks; ++i) bytes += out.counts[i];
    bytes *= out.all.type->size();
  }
  MPI_TRY(check_target_blocks(recvbuf, recvcounts, ranks, recvtype, &in.all));
  if (bytes > 0) MPI_TRY(check_distinct(sendbuf, recvbuf));
  in.counts = RankArray(recvcounts, ranks, launch);
  in.displacements = RankArray(rdispls, ranks, launch);
  record_call(*object, bytes);
  return launch(*object, {}, [out = std::move(out), in = std::move(in)](Transfer& transfer) {
    return alltoallv(transfer, out, in);
  });
}

}  // namespace
}  // namespace collectives

using collectives::Launch;
using collectives::launch_alltoallv;

int Alltoallv(const void* sendbuf, IntArray sendcounts, IntArray sdispls, Datatype sendtype,
              void* recvbuf, IntArray recvcounts, IntArray rdispls, Datatype recvtype, Comm comm) {
  return launch_alltoallv(Launch::now(), sendbuf, sendcounts, sdispls, sendtype, recvbuf,
                          recvcounts, rdispls, recvtype, comm);
}
int Ialltoallv(const void* sendbuf, IntArray sendcounts, IntArray sdispls, Datatype sendtype,
               void* recvbuf, IntArray recvcounts, IntArray rdispls, Datatype recvtype, Comm comm,
               Request* request) {
  return launch_alltoallv(Launch::start(request), sendbuf, sendcounts, sdispls, sendtype, recvbuf,
                          recvcounts, rdispls, recvtype, comm);
}
int Alltoallv_init(const void* sendbuf, IntArray sendcounts, IntArray sdispls, Datatype sendtype,
                   void* recvbuf, IntArray recvcounts, IntArray rdispls, Datatype recvtype,
                   Comm comm, Info, Request* request) {
  return launch_alltoallv(Launch::prepare(request), sendbuf, sendcounts, sdispls, sendtype, recvbuf,
                          recvcounts, rdispls, recvtype, comm);
}

}  // namespace sesame::mpi
