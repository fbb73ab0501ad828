// What the algorithms after Rabenseifner ("A new optimized MPI reduce algorithm", 1997) share: a
// power of two of ranks (core ranks) that halve a vector between them and bring it together again.
// Other ranks first give their data to a neighbour, which is their core rank.
#pragma once

#include <algorithm>
#include <bit>

#include "core/mpi/collectives/blocks.h"
#include "core/mpi/messages/transfer.h"

namespace sesame::mpi::collectives {

// Which ranks go on when `size` is not a power of two: of the first 2 * extra ranks one of each
// pair, the odd one or the even one.
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

// A vector cut in as many pieces as there are core ranks, the first ones an element longer.
struct EvenPieces {
  EvenPieces(Count elements, int pieces)
      : quotient(elements / pieces), remainder(elements % pieces) {}
  Count begin(int piece) const { return piece * quotient + std::min<Count>(piece, remainder); }
  Count length(int first, int end) const { return begin(end) - begin(first); }

  Count quotient;
  Count remainder;
};

// The pieces [first, end) that a rank is responsible for.
struct Window {
  int first;
  int end;

  int width() const { return end - first; }
  Window lower_half() const { return {first, first + width() / 2}; }
  Window upper_half() const { return {first + width() / 2, end}; }
};

// Recursive halving among the core ranks, near ones first: afterwards `vector` holds the whole
// result in the pieces of the returned window, which is one piece wide. `scratch` is as large as
// the vector.
Window halve_vector(Transfer& transfer, const Reduction& reduction, const CoreRanks& ranks,
                    const EvenPieces& pieces, int core, char* vector, char* scratch);

// The window of the neighbour at `mask` when both are `window` wide.
inline Window sibling(Window window, int core, int mask) {
  const int width = window.width();
  return (core & mask) == 0 ? Window{window.end, window.end + width}
                            : Window{window.first - width, window.first};
}
inline Window joined(Window a, Window b) {
  return {std::min(a.first, b.first), std::max(a.end, b.end)};
}

}  // namespace sesame::mpi::collectives
