// Stands in for core/mpi/messages/rank.h in the MPI library of a rank that is a process: what the
// entry points of a binary interface need of their rank. There is one.
#pragma once

#include "core/mpi/messages/program_tables.h"
#include "core/mpi/objects/constants.h"

namespace sesame::mpi {

struct Rank;

// Find a symbol of the process by its name; null: none.
struct WorldHooks {
  const void* (*program_variable)(const Rank& rank, const char* name) = nullptr;
  const void* (*program_function)(const Rank& rank, const char* name) = nullptr;
  const void* (*private_variable)(const Rank& rank, const char* name) = nullptr;
};

struct World {
  WorldHooks hooks;
};

struct Rank {
  explicit Rank(World& world_in) : world(world_in) {}

  World& world;
  const void* loaded_program = nullptr;
  ProgramTables tables;
};

Rank& this_rank();

}  // namespace sesame::mpi
