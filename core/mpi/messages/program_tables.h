// What the entry points of a binary interface (core/abi) read of the running rank: where its
// program is, and what the interface has prepared for it.
//
// It has no times and nothing else of a Rank. So all simulators, with sensitivities or without, and
// the MPI libraries of ranks that are processes have the same entry points.
//
// Use: program_tables() is that of the rank whose fiber runs. Fiber::owner points to it.
#pragma once

#include <cstdint>
#include <memory>

#include "core/pdes/fiber.h"

namespace sesame::mpi {

struct ProgramTables {
  uintptr_t address = 0;          // added to addresses in the program's file
  const void* handles = nullptr;  // predefined handles of the interface (core/abi/handles.h)
  std::shared_ptr<const void> fortran_constants;  // Fortran's of the interface, once looked up
};

// That of a thread without a fiber. In a simulator this ends it with a message: a thread that the
// program started itself has called MPI. In a rank that is a process it is the process's.
[[gnu::cold]] ProgramTables& tables_of_thread();

inline ProgramTables& program_tables() {
  const pdes::Fiber* fiber = pdes::current_fiber;
  return fiber != nullptr ? *static_cast<ProgramTables*>(fiber->owner) : tables_of_thread();
}

}  // namespace sesame::mpi
