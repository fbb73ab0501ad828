// The common steps of Rabenseifner's algorithms ("A new optimized MPI reduce algorithm", 1997): a
// power of two of ranks, the core ranks, reduce a vector by recursive halving, then gather it by
// recursive doubling. The other ranks first send their data to a neighbour, which is a core rank.
#pragma once

#include <algorithm>
#include <bit>

#include "core/mpi/collectives/blocks.h"
#include "core/mpi/messages/transfer.h"

namespace sesame::mpi::collectives {

// The core ranks when `size` is not a power of two: one of each pair of the first 2 * extra ranks,
// the odd one or the even one, and all further ranks. Core ranks are numbered from 0 (core_of,
// rank_of).
struct CoreRanks {
  enum class Kept { kOdd, kEven };

  CoreRanks(int size, Kept kept)
      : count(static_cast<int>(std::bit_floor(static_cast<unsigned>(size)))),
        extra(size - count),
        parity(kept == Kept::kOdd ? 1 : 0) {}

  bool is_paired(int rank) const { return rank < 2 * extra; }
  bool is_core(int rank) const { return !is_paired(rank) || rank % 2 == parity; }
  int core_of(int rank) const { return is_paired(rank) ? rank / 2 : rank - extra; }
  int rank_of(int core) const { return core < extra ? 2 * core + parity : core + extra; }

  int count;
  int extra;
  int parity;
};

// A vector divided into as many blocks as there are core ranks; the first ones have one element
// more.
struct EvenBlocks {
  EvenBlocks(Count elements, int blocks)
      : quotient(elements / blocks), remainder(elements % blocks) {}
  Count begin(int block) const { return block * quotient + std::min<Count>(block, remainder); }
  Count length(int first, int end) const { return begin(end) - begin(first); }

  Count quotient;
  Count remainder;
};

// The blocks [first, end), which a rank reduces.
struct BlockRange {
  int first;
  int end;

  int width() const { return end - first; }
  BlockRange lower_half() const { return {first, first + width() / 2}; }
  BlockRange upper_half() const { return {first + width() / 2, end}; }
};

// Recursive halving among the core ranks, with the nearest peer first. Afterwards `vector` has the
// final result in the blocks of the returned range, which is one block wide. `scratch` must be as
// large as the vector.
BlockRange halve_vector(Transfer& transfer, const Reduction& reduction, const CoreRanks& ranks,
                        const EvenBlocks& blocks, int core, char* vector, char* scratch);

// The range of the core rank at distance `mask`, which is as wide as `range`.
inline BlockRange sibling(BlockRange range, int core, int mask) {
  const int width = range.width();
  return (core & mask) == 0 ? BlockRange{range.end, range.end + width}
                            : BlockRange{range.first - width, range.first};
}
inline BlockRange joined(BlockRange a, BlockRange b) {
  return {std::min(a.first, b.first), std::max(a.end, b.end)};
}

}  // namespace sesame::mpi::collectives
