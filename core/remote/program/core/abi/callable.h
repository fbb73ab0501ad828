// Stands in for core/abi/callable.h in the MPI library of a rank that is a process, whose program
// may be statically linked.
#pragma once

#include "core/mpi/objects/callbacks.h"
#include "core/remote/program/static_switch.h"

namespace sesame::abi {

inline mpi::Function callable(mpi::Function function) {
  void* const address = reinterpret_cast<void*>(function);
  return reinterpret_cast<mpi::Function>(remote::sesame_rank_callable(address));
}

}  // namespace sesame::abi
