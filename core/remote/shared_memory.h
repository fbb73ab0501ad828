// Memory of windows that MPI allocates, for RemoteMemory (core/mpi/objects/memory.h): parts of one
// file in memory, which the simulator and processes of ranks map.
#pragma once

namespace sesame::remote {

// Once, before the first call of a rank. Simulation thread only.
void start_sharing();

}  // namespace sesame::remote
