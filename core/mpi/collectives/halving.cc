#include "core/mpi/collectives/halving.h"

namespace sesame::mpi::collectives {

BlockRange halve_vector(Transfer& transfer, const Reduction& reduction, const CoreRanks& ranks,
                        const EvenBlocks& blocks, int core, char* vector, char* scratch) {
  const DatatypeObject& type = *reduction.type;
  BlockRange range{0, ranks.count};
  for (int mask = 1; mask < ranks.count; mask *= 2) {
    const bool keep_lower = (core & mask) == 0;
    const BlockRange kept = keep_lower ? range.lower_half() : range.upper_half();
    const BlockRange sent = keep_lower ? range.upper_half() : range.lower_half();
    const int peer = ranks.rank_of(core ^ mask);
    const Aint kept_offset = reduction.offset(blocks.begin(kept.first));
    const Count kept_count = blocks.length(kept.first, kept.end);
    transfer.send_receive(vector + reduction.offset(blocks.begin(sent.first)),
                          blocks.length(sent.first, sent.end), type, peer, scratch + kept_offset,
                          kept_count, type, peer);
    reduction.combine(scratch + kept_offset, vector + kept_offset, kept_count);
    range = kept;
  }
  return range;
}

}  // namespace sesame::mpi::collectives
