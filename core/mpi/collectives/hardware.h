// Collectives that the network does: all ranks end at the entry of the last one plus a time that
// the machine file gives ([collectives.hardware]). No messages are sent and no interface is busy.
#pragma once

#include "core/mpi/collectives/blocks.h"
#include "core/mpi/messages/transfer.h"

namespace sesame::mpi {
struct World;
}

namespace sesame::mpi::collectives {

// Block the strand until all ranks of the intra-communicator have called them. The reduction
// combines the vectors in the order of ranks; its result replaces `vector` on every rank.
void barrier_hardware(Transfer& transfer);
void allreduce_hardware(Transfer& transfer, void* vector, const Reduction& reduction);

// In a parallel simulation each worker tells the others when its last rank has entered. To be
// called before the ranks run.
void take_part_with_workers(World& world);

}  // namespace sesame::mpi::collectives
