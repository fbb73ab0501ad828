#include "core/sim/program_files.h"

#include <vector>

#include "core/mpi/calls/charge.h"
#include "core/mpi/io/file_time.h"
#include "core/mpi/messages/polling.h"
#include "core/mpi/messages/recorder.h"
#include "core/mpi/messages/waiting.h"

namespace sesame::sim {
namespace {

using storage::Direction;
using storage::Extent;
using storage::FileCallRecord;
using storage::MetadataCall;
using storage::OpenFile;
using storage::ResolvedPath;

int node_of_rank() {
  const mpi::Rank& rank = mpi::this_rank();
  return rank.world.network.node_of(rank.id);
}

// Without yielding for other nodes' ranks where each node has its own files.
void await_turn() {
  mpi::Strand& strand = mpi::self();
  if (strand.rank->world.mounts->is_shared()) {
    mpi::yield_for_files(strand);
  } else {
    mpi::yield_until_now(strand);
  }
}

void begin(FileCallRecord& record) {
  mpi::Strand& strand = mpi::self();
  if (strand.call_depth == 0) mpi::charge_compute(strand, mpi::ComputeEnd::kClock);
  strand.idle_polls = 0;
  record.begin_ps = strand.now.ps();
  await_turn();
}

// Calls that failed before a file was known have no record.
void end(FileCallRecord& record) {
  mpi::Strand& strand = mpi::self();
  mpi::Recorder* recorder = strand.rank->world.recorder;
  if (recorder != nullptr && !record.path.empty()) {
    record.end_ps = strand.now.ps();
    recorder->record(strand.rank->id, record);
    if (strand.call_depth == 0 && recorder->is_full(strand.rank->id)) {
      mpi::yield_until_now(strand);
      recorder->write_until(strand.rank->id, strand.now);
    }
  }
  if (strand.call_depth == 0) mpi::resume_compute(strand);
}

void charge_metadata(const ResolvedPath& path, MetadataCall call) {
  mpi::charge_metadata(mpi::self(), path, call);
}

void charge_access(const OpenFile& file, Direction direction, const Extent& extent) {
  mpi::Strand& strand = mpi::self();
  mpi::charge_access(strand, file.path(),
                     file.access(direction, mpi::client_of(strand), {&extent, 1}));
}

void charge_flush(const OpenFile& file) { mpi::charge_flush(mpi::self(), file.path()); }

// An asynchronous transfer.
struct PendingAccess {
  PendingAccess(mpi::Rank& rank, const storage::FileSystem& system) : wait(rank, system) {}
  mpi::FileWait wait;
  Extent extent;
};

void* start_access(const OpenFile& file, Direction direction, const Extent& extent) {
  mpi::Strand& strand = mpi::self();
  auto* pending = new PendingAccess(*strand.rank, *file.path().system);
  pending->extent = extent;
  file.path().system->access(strand.departure(),
                             file.access(direction, mpi::client_of(strand), {&pending->extent, 1}),
                             pending->wait);
  return pending;
}

bool is_done(void* ticket) {
  mpi::Strand& strand = mpi::self();
  const bool is_outermost = strand.call_depth == 0;
  if (is_outermost) mpi::charge_compute_before_poll(strand, mpi::ComputeEnd::kClock);
  mpi::yield_until_now(strand);
  const mpi::FileWait& wait = static_cast<PendingAccess*>(ticket)->wait;
  const bool is_done = wait.is_done() && wait.at() <= strand.now;
  if (!is_done) mpi::charge_idle_poll(strand);
  if (is_outermost) mpi::resume_compute(strand);
  return is_done;
}

void wait_for(void* ticket) { static_cast<PendingAccess*>(ticket)->wait.wait(mpi::self()); }

void release(void* ticket) { delete static_cast<PendingAccess*>(ticket); }

size_t wait_for_any(std::span<void* const> tickets, int64_t limit_ns) {
  mpi::Strand& strand = mpi::self();
  std::vector<mpi::FileWait*> waits;
  for (void* ticket : tickets) waits.push_back(&static_cast<PendingAccess*>(ticket)->wait);
  // A longer limit is none: it does not end within the simulated time that can be represented.
  constexpr int64_t kLongest = int64_t{1} << 50;
  const bool is_limited = limit_ns >= 0 && limit_ns < kLongest;
  return mpi::wait_for_any(strand, waits,
                           is_limited ? strand.now + SimTime::from_ns(limit_ns) : SimTime::never());
}

}  // namespace

const loader::FileHooks& program_file_hooks(mpi::World& world) {
  static loader::FileHooks hooks;
  hooks = {.mounts = world.mounts.get(),
           .node = node_of_rank,
           .begin = begin,
           .end = end,
           .await_turn = await_turn,
           .charge_metadata = charge_metadata,
           .charge_access = charge_access,
           .charge_flush = charge_flush,
           .start_access = start_access,
           .is_done = is_done,
           .wait_for = wait_for,
           .release = release,
           .wait_for_any = wait_for_any};
  return hooks;
}

}  // namespace sesame::sim
