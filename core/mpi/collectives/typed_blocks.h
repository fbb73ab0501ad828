// Blocks with a datatype each and displacements in bytes: the arguments of MPI_Alltoallw and
// MPI_Neighbor_alltoallw. Holds references to the types; the buffer belongs to the program.
#pragma once

#include <memory>
#include <vector>

#include "core/mpi/collectives/exchange.h"
#include "core/mpi/collectives/launch.h"

namespace sesame::mpi::collectives {

struct TypedBlocks {
  void* data = nullptr;
  RankArray counts;
  RankArray displacements;
  std::shared_ptr<const std::vector<DatatypeRef>> types;

  void* at(int i) const { return shift(data, displacements[i]); }
  const DatatypeObject* type(int i) const { return (*types)[static_cast<size_t>(i)].get(); }
  OutBlock out(int i) const { return {at(i), counts[i], type(i)}; }
  InBlock in(int i) const { return {at(i), counts[i], type(i)}; }
  Count bytes(int i) const { return counts[i] * type(i)->size(); }
};

// Checks the arguments for `length` blocks and copies them to *blocks. Returns an MPI error class.
int check_typed_blocks(const void* buffer, IntArray counts, IntArray displacements,
                       const Datatype* types, int length, const Launch& launch,
                       TypedBlocks* blocks);

}  // namespace sesame::mpi::collectives
