#include "core/mpi/collectives/halving.h"

namespace sesame::mpi::collectives {

Window halve_vector(Transfer& transfer, const Reduction& reduction, const CoreRanks& ranks,
                    const EvenPieces& pieces, int core, char* vector, char* scratch) {
  const DatatypeObject& type = *reduction.type;
  Window window{0, ranks.count};
  for (int mask = 1; mask < ranks.count; mask *= 2) {
    const bool keep_lower = (core & mask) == 0;
    const Window kept = keep_lower ? window.lower_half() : window.upper_half();
    const Window given = keep_lower ? window.upper_half() : window.lower_half();
    const int peer = ranks.rank_of(core ^ mask);
    const Aint kept_offset = reduction.offset(pieces.begin(kept.first));
    const Count kept_count = pieces.length(kept.first, kept.end);
    transfer.send_receive(vector + reduction.offset(pieces.begin(given.first)),
                          pieces.length(given.first, given.end), type, peer, scratch + kept_offset,
                          kept_count, type, peer);
    reduction.combine(scratch + kept_offset, vector + kept_offset, kept_count);
    window = kept;
  }
  return window;
}

}  // namespace sesame::mpi::collectives
