#include "core/mpi/api.h"
#include "core/mpi/collectives/open_mpi_rules.h"
#include "core/mpi/collectives/typed_blocks.h"
#include "core/mpi/collectives/validate.h"

namespace sesame::mpi {
namespace collectives {

int check_typed_blocks(const void* buffer, IntArray counts, IntArray displacements,
                       const Datatype* types, int length, const Launch& launch,
                       TypedBlocks* blocks) {
  MPI_TRY(check_not_in_place(buffer));
  MPI_TRY(check_counts(counts, length));
  if (types == nullptr && length > 0) return fail(MPI_ERR_ARG, "the array of datatypes is null");
  std::vector<DatatypeRef> objects;
  objects.reserve(static_cast<size_t>(length));
  for (int i = 0; i < length; ++i) {
    const DatatypeObject* type = nullptr;
    MPI_TRY(check_buffer(buffer, counts[static_cast<size_t>(i)], types[i], &type));
    objects.emplace_back(type);
  }
  blocks->data = const_cast<void*>(buffer);
  blocks->counts = RankArray(counts, length, launch);
  blocks->displacements = RankArray(displacements, length, launch);
  blocks->types = std::make_shared<const std::vector<DatatypeRef>>(std::move(objects));
  return MPI_SUCCESS;
}

namespace {

int alltoallw(Transfer& transfer, const TypedBlocks& out, const TypedBlocks& in) {
  const auto out_block = [&out](int rank) { return out.out(rank); };
  const auto in_block = [&in](int rank) { return in.in(rank); };
  if (transfer.comm().is_inter) {
    exchange_between_groups(transfer, out_block, in_block);
  } else if (out.data == MPI_IN_PLACE) {
    exchange_in_place(transfer, in_block);
  } else if (open_mpi::is_followed()) {
    exchange_as_open_mpi(transfer, out_block, in_block);
  } else {
    exchange_as_mpich(transfer, out_block, in_block);
  }
  return transfer.error();
}

int launch_alltoallw(const Launch& launch, const void* sendbuf, IntArray sendcounts,
                     IntArray sdispls, const Datatype* sendtypes, void* recvbuf,
                     IntArray recvcounts, IntArray rdispls, const Datatype* recvtypes, Comm comm) {
  CommObject* object = nullptr;
  TypedBlocks out;
  TypedBlocks in;
  MPI_TRY(check_comm(comm, &object));
  const int ranks = object->remote_size();
  Count bytes = 0;
  if (sendbuf == MPI_IN_PLACE && !object->is_inter) {
    out.data = MPI_IN_PLACE;
  } else {
    MPI_TRY(check_typed_blocks(sendbuf, sendcounts, sdispls, sendtypes, ranks, launch, &out));
    for (int i = 0; i < ranks; ++i) bytes += out.bytes(i);
  }
  MPI_TRY(check_typed_blocks(recvbuf, recvcounts, rdispls, recvtypes, ranks, launch, &in));
  if (bytes > 0) MPI_TRY(check_distinct(sendbuf, recvbuf));
  record_call(*object, bytes);
  return launch(*object, {}, [out = std::move(out), in = std::move(in)](Transfer& transfer) {
    return alltoallw(transfer, out, in);
  });
}

}  // namespace
}  // namespace collectives

using collectives::Launch;
using collectives::launch_alltoallw;

int Alltoallw(const void* sendbuf, IntArray sendcounts, IntArray sdispls, const Datatype* sendtypes,
              void* recvbuf, IntArray recvcounts, IntArray rdispls, const Datatype* recvtypes,
              Comm comm) {
  return launch_alltoallw(Launch::now(), sendbuf, sendcounts, sdispls, sendtypes, recvbuf,
                          recvcounts, rdispls, recvtypes, comm);
}
int Ialltoallw(const void* sendbuf, IntArray sendcounts, IntArray sdispls,
               const Datatype* sendtypes, void* recvbuf, IntArray recvcounts, IntArray rdispls,
               const Datatype* recvtypes, Comm comm, Request* request) {
  return launch_alltoallw(Launch::start(request), sendbuf, sendcounts, sdispls, sendtypes, recvbuf,
                          recvcounts, rdispls, recvtypes, comm);
}
int Alltoallw_init(const void* sendbuf, IntArray sendcounts, IntArray sdispls,
                   const Datatype* sendtypes, void* recvbuf, IntArray recvcounts, IntArray rdispls,
                   const Datatype* recvtypes, Comm comm, Info, Request* request) {
  return launch_alltoallw(Launch::prepare(request), sendbuf, sendcounts, sdispls, sendtypes,
                          recvbuf, recvcounts, rdispls, recvtypes, comm);
}

}  // namespace sesame::mpi
