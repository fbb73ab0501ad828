#include "core/mpi/io/waiting.h"

#include <algorithm>

#include "core/mpi/messages/waiting.h"
#include "core/mpi/messages/world.h"
#include "core/storage/mounts.h"

namespace sesame::mpi {

void add_io_time(Strand& strand, SimTime duration) {
  Rank& rank = *strand.rank;
  if (&strand != &rank.main) return;
  rank.io += duration;
  if (strand.call_depth > 0) rank.io_in_calls += duration;
}

bool is_copied(const World& world, const storage::FileSystem& system) {
  return world.remote != nullptr && world.mounts->is_shared(system);
}

FileWait::FileWait(Rank& rank, const storage::FileSystem& system)
    : rank_(rank), is_copied_(is_copied(rank.world, system)) {
  Interface& interface = rank.interface;
  interface.begin_file_access();
  if (is_copied_) interface.begin_copied_access();
}

void FileWait::done(SimTime at) {
  Interface& interface = rank_.interface;
  interface.end_file_access();
  if (is_copied_) interface.end_copied_access();
  at_ = at;
  is_done_ = true;
  for (Strand* strand : blocked_) rank_.world.executive.make_ready(*strand);
  for (Strand* strand : awaiting_)
    if (!strand->wake.is_scheduled() || at < strand->wake.time()) schedule_wake(*strand, at);
}

void FileWait::wait(Strand& strand) {
  if (!is_done_) {
    blocked_.push_back(&strand);
    rank_.world.executive.block();
    std::erase(blocked_, &strand);
  }
  add_io_time(strand, strand.wait_until(at_, PathKind::kFile));
}

size_t wait_for_any(Strand& strand, std::span<FileWait* const> waits, SimTime latest) {
  SimTime wake = latest;
  for (FileWait* wait : waits) {
    wait->awaiting_.push_back(&strand);
    if (wait->is_done_) wake = std::min(wake, wait->at_);
  }
  // A request that is not done yet may turn out to be complete before those that are.
  if (wake != SimTime::never()) schedule_wake(strand, later(wake, strand.now));
  strand.rank->world.executive.block();
  add_io_time(strand, strand.wait_until(strand.wake.time(), PathKind::kFile));
  size_t first = waits.size();
  for (size_t i = 0; i < waits.size(); ++i) {
    FileWait& wait = *waits[i];
    std::erase(wait.awaiting_, &strand);
    if (!wait.is_done_ || wait.at_ > strand.now) continue;
    if (first == waits.size() || wait.at_ < waits[first]->at_) first = i;
  }
  return first;
}

}  // namespace sesame::mpi
