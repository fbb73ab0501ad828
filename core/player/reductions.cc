// Reductions. The trace has neither the datatype nor the operation. The player takes the widest
// integers, of 64, 32 or 8 bits, that divide the size, and bitwise or, which is commutative like
// most operations.
#include <stdlib.h>

#include "core/player/player.h"

namespace sesame::player {
namespace {

using namespace sesame::mpi;

Count width_of(int64_t bytes) { return bytes % 8 == 0 ? 8 : bytes % 4 == 0 ? 4 : 1; }

Datatype type_of(int64_t bytes) {
  const Count width = width_of(bytes);
  return width == 8 ? MPI_INT64_T : width == 4 ? MPI_INT32_T : MPI_BYTE;
}

Count elements_of(int64_t bytes) { return bytes / width_of(bytes); }

const void* input() { return player.buffers.send; }
void* output() { return player.buffers.receive; }

void play_reduce(const Operation& op) {
  MPI_Reduce_c(input(), output(), elements_of(op.bytes), type_of(op.bytes), MPI_BOR, op.peer,
               comm_of(op));
}

void play_ireduce(const Operation& op) {
  MPI_Ireduce_c(input(), output(), elements_of(op.bytes), type_of(op.bytes), MPI_BOR, op.peer,
                comm_of(op), request_of(op));
}

using Function = int (*)(const void*, void*, Count, Datatype, Op, Comm);
using StartFunction = int (*)(const void*, void*, Count, Datatype, Op, Comm, Request*);

template <Function function>
void play(const Operation& op) {
  function(input(), output(), elements_of(op.bytes), type_of(op.bytes), MPI_BOR, comm_of(op));
}

template <StartFunction function>
void start(const Operation& op) {
  function(input(), output(), elements_of(op.bytes), type_of(op.bytes), MPI_BOR, comm_of(op),
           request_of(op));
}

// `bytes` is the total, distributed evenly over the ranks; the list has one value, their number.
template <typename Call>
void reduce_scatter(const Operation& op, Call call) {
  const int64_t ranks = *list_of(op);
  const Count elements = elements_of(op.bytes);
  Count* const counts = static_cast<Count*>(calloc(static_cast<size_t>(ranks) + 1, sizeof(Count)));
  for (int64_t i = 0; i < ranks; ++i) counts[i] = elements / ranks + (i < elements % ranks);
  call(counts);
  free(counts);
}

void play_reduce_scatter(const Operation& op) {
  reduce_scatter(op, [&op](const Count* counts) {
    MPI_Reduce_scatter_c(input(), output(), counts, type_of(op.bytes), MPI_BOR, comm_of(op));
  });
}

void play_ireduce_scatter(const Operation& op) {
  reduce_scatter(op, [&op](const Count* counts) {
    MPI_Ireduce_scatter_c(input(), output(), counts, type_of(op.bytes), MPI_BOR, comm_of(op),
                          request_of(op));
  });
}

}  // namespace

const PlayedCall kReductionCalls[] = {
    {"MPI_Reduce", play_reduce},
    {"MPI_Ireduce", play_ireduce},
    {"MPI_Allreduce", play<MPI_Allreduce_c>},
    {"MPI_Iallreduce", start<MPI_Iallreduce_c>},
    {"MPI_Scan", play<MPI_Scan_c>},
    {"MPI_Iscan", start<MPI_Iscan_c>},
    {"MPI_Exscan", play<MPI_Exscan_c>},
    {"MPI_Iexscan", start<MPI_Iexscan_c>},
    {"MPI_Reduce_scatter_block", play<MPI_Reduce_scatter_block_c>},
    {"MPI_Ireduce_scatter_block", start<MPI_Ireduce_scatter_block_c>},
    {"MPI_Reduce_scatter", play_reduce_scatter},
    {"MPI_Ireduce_scatter", play_ireduce_scatter},
    {nullptr, nullptr},
};

}  // namespace sesame::player
