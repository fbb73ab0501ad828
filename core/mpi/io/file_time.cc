#include "core/mpi/io/file_time.h"

namespace sesame::mpi {

storage::Client client_of(const Strand& strand) {
  Rank& rank = *strand.rank;
  return {rank.id, rank.world.network.node_of(rank.id), &rank.interface.free()};
}

void spend_metadata(Strand& strand, const storage::Place& place, storage::MetadataCall call) {
  yield_until_now(strand);
  if (place.system == nullptr) return;
  FileWait wait(strand);
  place.system->metadata(strand.now, call, place.file, client_of(strand), wait);
  wait.wait();
}

}  // namespace sesame::mpi
