// The simulator's side of a program's POSIX and stdio calls on simulated files: their simulated
// time and their records.
#pragma once

#include "core/loader/file_hooks.h"
#include "core/mpi/messages/world.h"

namespace sesame::sim {

// The hooks for this job, which must have mounts and outlive the ranks. One job for each process.
const loader::FileHooks& program_file_hooks(mpi::World& world);

}  // namespace sesame::sim
