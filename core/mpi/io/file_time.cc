#include "core/mpi/io/file_time.h"

#include "core/mpi/messaging.h"

namespace sesame::mpi {

void let_come(Strand& strand) {
  schedule_wake(strand, strand.now);
  strand.rank->world.executive.block();
}

void count_io(Strand& strand, SimTime duration) {
  Rank& rank = *strand.rank;
  if (&strand != &rank.main) return;
  rank.io += duration;
  if (strand.call_depth > 0) rank.io_in_calls += duration;
}

storage::Client client_of(const Strand& strand) {
  Rank& rank = *strand.rank;
  return {rank.id, rank.world.network.node_of(rank.id), &rank.interface_free};
}

void FileWait::done(SimTime at) {
  at_ = at;
  done_ = true;
  if (waits_) strand_.rank->world.executive.make_ready(strand_);
}

void FileWait::await() {
  if (!done_) {
    waits_ = true;
    strand_.rank->world.executive.block();
  }
  if (at_ <= strand_.now) return;
  count_io(strand_, at_ - strand_.now);
  strand_.now = at_;
}

void spend_metadata(Strand& strand, const storage::Place& place, storage::MetadataCall call) {
  let_come(strand);
  if (place.system == nullptr) return;
  FileWait wait(strand);
  place.system->metadata(strand.now, call, place.file, client_of(strand), wait);
  wait.await();
}

}  // namespace sesame::mpi
