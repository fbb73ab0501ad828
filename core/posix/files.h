// I/O of the program outside of MPI on simulated file systems: what the loader asks about paths and
// descriptors is answered by the mounts, and its time by their models.
#pragma once

#include "core/loader/file_hooks.h"
#include "core/mpi/messages/world.h"

namespace sesame::posix {

// The answers for this job, which must have mounts. One job for each process.
const loader::FileHooks& file_hooks(mpi::World& world);

}  // namespace sesame::posix
