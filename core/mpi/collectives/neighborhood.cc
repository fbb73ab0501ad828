// The neighbourhood collectives. Each is one exchange with all neighbours; they differ in where
// the blocks are.
#include "core/mpi/collectives/neighborhood.h"

#include "core/mpi/api.h"
#include "core/mpi/collectives/typed_blocks.h"
#include "core/mpi/collectives/validate.h"

namespace sesame::mpi {
namespace collectives {

int check_neighbors(Comm handle, CommObject** comm, Neighbors* neighbors) {
  MPI_TRY(check_intra_comm(handle, comm));
  if ((*comm)->topology == nullptr) {
    return fail(MPI_ERR_TOPOLOGY, "the communicator has no topology");
  }
  *neighbors = neighbors_of(*(*comm)->topology, (*comm)->rank);
  return MPI_SUCCESS;
}

namespace {

int sources_of(const Neighbors& neighbors) { return static_cast<int>(neighbors.sources.size()); }
int destinations_of(const Neighbors& neighbors) {
  return static_cast<int>(neighbors.destinations.size());
}

Count sum(const RankArray& counts, int length) {
  Count elements = 0;
  for (int i = 0; i < length; ++i) elements += counts[i];
  return elements;
}

int launch_neighbor_allgather(const Launch& launch, const void* sendbuf, Count sendcount,
                              Datatype sendtype, void* recvbuf, Count recvcount, Datatype recvtype,
                              Comm comm) {
  CommObject* object = nullptr;
  Neighbors neighbors;
  Source mine;
  Target all;
  MPI_TRY(check_neighbors(comm, &object, &neighbors));
  MPI_TRY(check_source(sendbuf, sendcount, sendtype, &mine));
  MPI_TRY(check_target(recvbuf, recvcount, recvtype, &all));
  record_call(*object, mine.bytes() * destinations_of(neighbors));
  return launch(*object, {},
                [neighbors = std::move(neighbors), mine = std::move(mine),
                 all = std::move(all)](Transfer& transfer) {
                  exchange_with_neighbors(
                      transfer, neighbors,
                      [&mine](int) {
                        return OutBlock{mine.data, mine.count, mine.type.get()};
                      },
                      [&all](int i) {
                        return InBlock{all.at(i * all.count), all.count, all.type.get()};
                      });
                  return transfer.error();
                });
}

int launch_neighbor_allgatherv(const Launch& launch, const void* sendbuf, Count sendcount,
                               Datatype sendtype, void* recvbuf, IntArray recvcounts,
                               IntArray displs, Datatype recvtype, Comm comm) {
  CommObject* object = nullptr;
  Neighbors neighbors;
  Source mine;
  Target all;
  MPI_TRY(check_neighbors(comm, &object, &neighbors));
  const int sources = sources_of(neighbors);
  MPI_TRY(check_source(sendbuf, sendcount, sendtype, &mine));
  MPI_TRY(check_target_blocks(recvbuf, recvcounts, sources, recvtype, &all));
  record_call(*object, mine.bytes() * destinations_of(neighbors));
  return launch(*object, {},
                [neighbors = std::move(neighbors), mine = std::move(mine), all = std::move(all),
                 counts = RankArray(recvcounts, sources, launch),
                 displacements = RankArray(displs, sources, launch)](Transfer& transfer) {
                  exchange_with_neighbors(
                      transfer, neighbors,
                      [&mine](int) {
                        return OutBlock{mine.data, mine.count, mine.type.get()};
                      },
                      [&](int i) {
                        return InBlock{all.at(displacements[i]), counts[i], all.type.get()};
                      });
                  return transfer.error();
                });
}

int launch_neighbor_alltoall(const Launch& launch, const void* sendbuf, Count sendcount,
                             Datatype sendtype, void* recvbuf, Count recvcount, Datatype recvtype,
                             Comm comm) {
  CommObject* object = nullptr;
  Neighbors neighbors;
  Source out;
  Target in;
  MPI_TRY(check_neighbors(comm, &object, &neighbors));
  MPI_TRY(check_source(sendbuf, sendcount, sendtype, &out));
  MPI_TRY(check_target(recvbuf, recvcount, recvtype, &in));
  record_call(*object, out.bytes() * destinations_of(neighbors));
  return launch(*object, {},
                [neighbors = std::move(neighbors), out = std::move(out),
                 in = std::move(in)](Transfer& transfer) {
                  exchange_with_neighbors(
                      transfer, neighbors,
                      [&out](int i) {
                        return OutBlock{out.at(i * out.count), out.count, out.type.get()};
                      },
                      [&in](int i) {
                        return InBlock{in.at(i * in.count), in.count, in.type.get()};
                      });
                  return transfer.error();
                });
}

int launch_neighbor_alltoallv(const Launch& launch, const void* sendbuf, IntArray sendcounts,
                              IntArray sdispls, Datatype sendtype, void* recvbuf,
                              IntArray recvcounts, IntArray rdispls, Datatype recvtype, Comm comm) {
  CommObject* object = nullptr;
  Neighbors neighbors;
  Source out;
  Target in;
  MPI_TRY(check_neighbors(comm, &object, &neighbors));
  const int sources = sources_of(neighbors);
  const int destinations = destinations_of(neighbors);
  MPI_TRY(check_source_blocks(sendbuf, sendcounts, destinations, sendtype, &out));
  MPI_TRY(check_target_blocks(recvbuf, recvcounts, sources, recvtype, &in));
  RankArray out_counts(sendcounts, destinations, launch);
  record_call(*object, sum(out_counts, destinations) * out.type->size());
  return launch(
      *object, {},
      [neighbors = std::move(neighbors), out = std::move(out), in = std::move(in),
       out_counts = std::move(out_counts),
       out_displacements = RankArray(sdispls, destinations, launch),
       in_counts = RankArray(recvcounts, sources, launch),
       in_displacements = RankArray(rdispls, sources, launch)](Transfer& transfer) {
        exchange_with_neighbors(
            transfer, neighbors,
            [&](int i) {
              return OutBlock{out.at(out_displacements[i]), out_counts[i], out.type.get()};
            },
            [&](int i) {
              return InBlock{in.at(in_displacements[i]), in_counts[i], in.type.get()};
            });
        return transfer.error();
      });
}

int launch_neighbor_alltoallw(const Launch& launch, const void* sendbuf, IntArray sendcounts,
                              IntArray sdispls, const Datatype* sendtypes, void* recvbuf,
                              IntArray recvcounts, IntArray rdispls, const Datatype* recvtypes,
                              Comm comm) {
  CommObject* object = nullptr;
  Neighbors neighbors;
  TypedBlocks out;
  TypedBlocks in;
  MPI_TRY(check_neighbors(comm, &object, &neighbors));
  const int destinations = destinations_of(neighbors);
  MPI_TRY(check_typed_blocks(sendbuf, sendcounts, sdispls, sendtypes, destinations, launch, &out));
  MPI_TRY(check_typed_blocks(recvbuf, recvcounts, rdispls, recvtypes, sources_of(neighbors), launch,
                             &in));
  Count bytes = 0;
  for (int i = 0; i < destinations; ++i) bytes += out.bytes(i);
  record_call(*object, bytes);
  return launch(*object, {},
                [neighbors = std::move(neighbors), out = std::move(out),
                 in = std::move(in)](Transfer& transfer) {
                  exchange_with_neighbors(
                      transfer, neighbors, [&out](int i) { return out.out(i); },
                      [&in](int i) { return in.in(i); });
                  return transfer.error();
                });
}

}  // namespace
}  // namespace collectives

using collectives::Launch;

int Neighbor_allgather(const void* sendbuf, Count sendcount, Datatype sendtype, void* recvbuf,
                       Count recvcount, Datatype recvtype, Comm comm) {
  return collectives::launch_neighbor_allgather(Launch::now(), sendbuf, sendcount, sendtype,
                                                recvbuf, recvcount, recvtype, comm);
}
int Ineighbor_allgather(const void* sendbuf, Count sendcount, Datatype sendtype, void* recvbuf,
                        Count recvcount, Datatype recvtype, Comm comm, Request* request) {
  return collectives::launch_neighbor_allgather(Launch::start(request), sendbuf, sendcount,
                                                sendtype, recvbuf, recvcount, recvtype, comm);
}
int Neighbor_allgather_init(const void* sendbuf, Count sendcount, Datatype sendtype, void* recvbuf,
                            Count recvcount, Datatype recvtype, Comm comm, Info, Request* request) {
  return collectives::launch_neighbor_allgather(Launch::prepare(request), sendbuf, sendcount,
                                                sendtype, recvbuf, recvcount, recvtype, comm);
}

int Neighbor_allgatherv(const void* sendbuf, Count sendcount, Datatype sendtype, void* recvbuf,
                        IntArray recvcounts, IntArray displs, Datatype recvtype, Comm comm) {
  return collectives::launch_neighbor_allgatherv(Launch::now(), sendbuf, sendcount, sendtype,
                                                 recvbuf, recvcounts, displs, recvtype, comm);
}
int Ineighbor_allgatherv(const void* sendbuf, Count sendcount, Datatype sendtype, void* recvbuf,
                         IntArray recvcounts, IntArray displs, Datatype recvtype, Comm comm,
                         Request* request) {
  return collectives::launch_neighbor_allgatherv(Launch::start(request), sendbuf, sendcount,
                                                 sendtype, recvbuf, recvcounts, displs, recvtype,
                                                 comm);
}
int Neighbor_allgatherv_init(const void* sendbuf, Count sendcount, Datatype sendtype, void* recvbuf,
                             IntArray recvcounts, IntArray displs, Datatype recvtype, Comm comm,
                             Info, Request* request) {
  return collectives::launch_neighbor_allgatherv(Launch::prepare(request), sendbuf, sendcount,
                                                 sendtype, recvbuf, recvcounts, displs, recvtype,
                                                 comm);
}

int Neighbor_alltoall(const void* sendbuf, Count sendcount, Datatype sendtype, void* recvbuf,
                      Count recvcount, Datatype recvtype, Comm comm) {
  return collectives::launch_neighbor_alltoall(Launch::now(), sendbuf, sendcount, sendtype, recvbuf,
                                               recvcount, recvtype, comm);
}
int Ineighbor_alltoall(const void* sendbuf, Count sendcount, Datatype sendtype, void* recvbuf,
                       Count recvcount, Datatype recvtype, Comm comm, Request* request) {
  return collectives::launch_neighbor_alltoall(Launch::start(request), sendbuf, sendcount, sendtype,
                                               recvbuf, recvcount, recvtype, comm);
}
int Neighbor_alltoall_init(const void* sendbuf, Count sendcount, Datatype sendtype, void* recvbuf,
                           Count recvcount, Datatype recvtype, Comm comm, Info, Request* request) {
  return collectives::launch_neighbor_alltoall(Launch::prepare(request), sendbuf, sendcount,
                                               sendtype, recvbuf, recvcount, recvtype, comm);
}

int Neighbor_alltoallv(const void* sendbuf, IntArray sendcounts, IntArray sdispls,
                       Datatype sendtype, void* recvbuf, IntArray recvcounts, IntArray rdispls,
                       Datatype recvtype, Comm comm) {
  return collectives::launch_neighbor_alltoallv(Launch::now(), sendbuf, sendcounts, sdispls,
                                                sendtype, recvbuf, recvcounts, rdispls, recvtype,
                                                comm);
}
int Ineighbor_alltoallv(const void* sendbuf, IntArray sendcounts, IntArray sdispls,
                        Datatype sendtype, void* recvbuf, IntArray recvcounts, IntArray rdispls,
                        Datatype recvtype, Comm comm, Request* request) {
  return collectives::launch_neighbor_alltoallv(Launch::start(request), sendbuf, sendcounts,
                                                sdispls, sendtype, recvbuf, recvcounts, rdispls,
                                                recvtype, comm);
}
int Neighbor_alltoallv_init(const void* sendbuf, IntArray sendcounts, IntArray sdispls,
                            Datatype sendtype, void* recvbuf, IntArray recvcounts, IntArray rdispls,
                            Datatype recvtype, Comm comm, Info, Request* request) {
  return collectives::launch_neighbor_alltoallv(Launch::prepare(request), sendbuf, sendcounts,
                                                sdispls, sendtype, recvbuf, recvcounts, rdispls,
                                                recvtype, comm);
}

int Neighbor_alltoallw(const void* sendbuf, IntArray sendcounts, IntArray sdispls,
                       const Datatype* sendtypes, void* recvbuf, IntArray recvcounts,
                       IntArray rdispls, const Datatype* recvtypes, Comm comm) {
  return collectives::launch_neighbor_alltoallw(Launch::now(), sendbuf, sendcounts, sdispls,
                                                sendtypes, recvbuf, recvcounts, rdispls, recvtypes,
                                                comm);
}
int Ineighbor_alltoallw(const void* sendbuf, IntArray sendcounts, IntArray sdispls,
                        const Datatype* sendtypes, void* recvbuf, IntArray recvcounts,
                        IntArray rdispls, const Datatype* recvtypes, Comm comm, Request* request) {
  return collectives::launch_neighbor_alltoallw(Launch::start(request), sendbuf, sendcounts,
                                                sdispls, sendtypes, recvbuf, recvcounts, rdispls,
                                                recvtypes, comm);
}
int Neighbor_alltoallw_init(const void* sendbuf, IntArray sendcounts, IntArray sdispls,
                            const Datatype* sendtypes, void* recvbuf, IntArray recvcounts,
                            IntArray rdispls, const Datatype* recvtypes, Comm comm, Info,
                            Request* request) {
  return collectives::launch_neighbor_alltoallw(Launch::prepare(request), sendbuf, sendcounts,
                                                sdispls, sendtypes, recvbuf, recvcounts, rdispls,
                                                recvtypes, comm);
}

}  // namespace sesame::mpi
