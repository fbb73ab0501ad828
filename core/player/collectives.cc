// Collectives that move data, blocking and non-blocking. `bytes` is the size that one rank sends to
// or receives from each other rank where all sizes are equal.
#include <stdlib.h>

#include "core/player/player.h"

namespace sesame::player {
namespace {

using namespace sesame::mpi;

// f(arguments…) or, non-blocking, f(arguments…, request).
template <auto function, typename... Arguments>
void call(const Operation& op, Arguments... arguments) {
  if constexpr (requires { function(arguments..., request_of(op)); }) {
    function(arguments..., request_of(op));
  } else {
    function(arguments...);
  }
}

template <auto function>
void play_barrier(const Operation& op) {
  call<function>(op, comm_of(op));
}

template <auto function>
void play_bcast(const Operation& op) {
  call<function>(op, static_cast<void*>(player.buffers.receive), Count{op.bytes}, MPI_BYTE,
                 static_cast<int>(op.peer), comm_of(op));
}

template <auto function>
void play_rooted(const Operation& op) {
  call<function>(op, static_cast<const void*>(player.buffers.send), Count{op.bytes}, MPI_BYTE,
                 static_cast<void*>(player.buffers.receive), Count{op.bytes}, MPI_BYTE,
                 static_cast<int>(op.peer), comm_of(op));
}

template <auto function>
void play_unrooted(const Operation& op) {
  call<function>(op, static_cast<const void*>(player.buffers.send), Count{op.bytes}, MPI_BYTE,
                 static_cast<void*>(player.buffers.receive), Count{op.bytes}, MPI_BYTE,
                 comm_of(op));
}

// The collectives with a count for each rank. All displacements are zero: what arrives does not
// matter. The simulated MPI copies the arrays that a non-blocking call needs later.
Count* counts(int64_t ranks) {
  return static_cast<Count*>(calloc(static_cast<size_t>(ranks) + 1, sizeof(Count)));
}

struct Shares {
  explicit Shares(int64_t ranks)
      : send(counts(ranks)),
        receive(counts(ranks)),
        nowhere(reinterpret_cast<Aint*>(counts(ranks))) {}
  ~Shares() {
    free(send);
    free(receive);
    free(nowhere);
  }
  Count* send;
  Count* receive;
  Aint* nowhere;
};

// The share of rank `index` in a total that is distributed evenly over `ranks`.
Count share(int64_t total, int64_t ranks, int64_t index) {
  return total / ranks + (index < total % ranks ? 1 : 0);
}

// The list: number of ranks, then the bytes of each.
template <auto function>
void play_allgatherv(const Operation& op) {
  const int64_t* const list = list_of(op);
  Shares shares(list[0]);
  for (int64_t i = 0; i < list[0]; ++i) shares.receive[i] = list[i + 1];
  call<function>(op, static_cast<const void*>(player.buffers.send), Count{op.bytes}, MPI_BYTE,
                 static_cast<void*>(player.buffers.receive),
                 static_cast<const Count*>(shares.receive),
                 static_cast<const Aint*>(shares.nowhere), MPI_BYTE, comm_of(op));
}

template <auto function>
void play_gatherv(const Operation& op) {
  const int64_t* const list = list_of(op);
  Shares shares(list[0]);
  for (int64_t i = 0; i < list[0]; ++i) shares.receive[i] = list[i + 1];
  call<function>(
      op, static_cast<const void*>(player.buffers.send), Count{op.bytes}, MPI_BYTE,
      static_cast<void*>(player.buffers.receive), static_cast<const Count*>(shares.receive),
      static_cast<const Aint*>(shares.nowhere), MPI_BYTE, static_cast<int>(op.peer), comm_of(op));
}

template <auto function>
void play_scatterv(const Operation& op) {
  const int64_t* const list = list_of(op);
  Shares shares(list[0]);
  for (int64_t i = 0; i < list[0]; ++i) shares.send[i] = list[i + 1];
  call<function>(op, static_cast<const void*>(player.buffers.send),
                 static_cast<const Count*>(shares.send), static_cast<const Aint*>(shares.nowhere),
                 MPI_BYTE, static_cast<void*>(player.buffers.receive), Count{op.bytes}, MPI_BYTE,
                 static_cast<int>(op.peer), comm_of(op));
}

// `peer` is the own rank; each rank's total is distributed evenly.
template <auto function>
void play_alltoallv(const Operation& op) {
  const int64_t* const list = list_of(op);
  Shares shares(list[0]);
  for (int64_t i = 0; i < list[0]; ++i) {
    shares.send[i] = share(op.bytes, list[0], i);
    shares.receive[i] = share(list[i + 1], list[0], op.peer);
  }
  call<function>(op, static_cast<const void*>(player.buffers.send),
                 static_cast<const Count*>(shares.send), static_cast<const Aint*>(shares.nowhere),
                 MPI_BYTE, static_cast<void*>(player.buffers.receive),
                 static_cast<const Count*>(shares.receive),
                 static_cast<const Aint*>(shares.nowhere), MPI_BYTE, comm_of(op));
}

}  // namespace

const PlayedCall kCollectiveCalls[] = {
    {"MPI_Barrier", play_barrier<MPI_Barrier>},
    {"MPI_Ibarrier", play_barrier<MPI_Ibarrier>},
    {"MPI_Bcast", play_bcast<MPI_Bcast_c>},
    {"MPI_Ibcast", play_bcast<MPI_Ibcast_c>},
    {"MPI_Gather", play_rooted<MPI_Gather_c>},
    {"MPI_Igather", play_rooted<MPI_Igather_c>},
    {"MPI_Scatter", play_rooted<MPI_Scatter_c>},
    {"MPI_Iscatter", play_rooted<MPI_Iscatter_c>},
    {"MPI_Allgather", play_unrooted<MPI_Allgather_c>},
    {"MPI_Iallgather", play_unrooted<MPI_Iallgather_c>},
    {"MPI_Alltoall", play_unrooted<MPI_Alltoall_c>},
    {"MPI_Ialltoall", play_unrooted<MPI_Ialltoall_c>},
    {"MPI_Allgatherv", play_allgatherv<MPI_Allgatherv_c>},
    {"MPI_Iallgatherv", play_allgatherv<MPI_Iallgatherv_c>},
    {"MPI_Gatherv", play_gatherv<MPI_Gatherv_c>},
    {"MPI_Igatherv", play_gatherv<MPI_Igatherv_c>},
    {"MPI_Scatterv", play_scatterv<MPI_Scatterv_c>},
    {"MPI_Iscatterv", play_scatterv<MPI_Iscatterv_c>},
    {"MPI_Alltoallv", play_alltoallv<MPI_Alltoallv_c>},
    {"MPI_Ialltoallv", play_alltoallv<MPI_Ialltoallv_c>},
    {nullptr, nullptr},
};

}  // namespace sesame::player
