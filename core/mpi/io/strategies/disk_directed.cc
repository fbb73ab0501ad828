// Disk-directed I/O (Kotz, "Disk-directed I/O for MIMD multiprocessors", 1994 and 1997).
#include <algorithm>

#include "core/mpi/collectives/barrier.h"
#include "core/mpi/io/file_time.h"
#include "core/mpi/io/shared_files.h"
#include "core/mpi/io/sorted_request.h"
#include "core/mpi/io/strategies/strategies.h"
#include "core/mpi/io/waiting.h"
#include "core/mpi/messages/world.h"
#include "core/mpi/objects/errors.h"

namespace sesame::mpi {

using storage::Access;
using storage::Extent;

// One call of all ranks: collects their accesses until the last rank has arrived, and the strands
// that wait. Ranks on different nodes may have different file systems. In a parallel simulation
// each worker has all accesses, and the strands of its own ranks.
struct DirectedCall : storage::Completion {
  struct SystemAccesses {
    storage::FileSystem* system;
    std::vector<Access> accesses;
  };

  void add(DirectedShare share) {
    ++arrived;
    if (share.strand != nullptr) waiting.push_back(share.strand);
    if (share.system == nullptr) return;
    auto entry = std::ranges::find(by_system, share.system, &SystemAccesses::system);
    if (entry == by_system.end()) entry = by_system.insert(by_system.end(), {share.system, {}});
    entry->accesses.push_back(share.access);
    kept_extents.push_back(std::move(share.kept_extents));  // which stay where they are in memory
  }
  // `self` keeps this object until the end.
  void start(SimTime now, std::shared_ptr<DirectedCall> self) {
    outstanding = by_system.size();
    if (by_system.empty()) return wake_all(now);
    until_done = std::move(self);
    for (const SystemAccesses& entry : by_system)
      entry.system->access_directed(now, entry.accesses, *this);
  }
  void done(SimTime at) override {
    if (--outstanding > 0) return;
    const std::shared_ptr<DirectedCall> self = std::move(until_done);
    wake_all(at);
  }
  void wake_all(SimTime at) {
    for (Strand* strand : waiting) {
      strand->waited += strand->wait_until(at, PathKind::kFile);
      pdes::Executive& executive = strand->rank->world.executive;
      executive.add_model_waits(-1);
      executive.make_ready(*strand);
    }
  }

  std::vector<SystemAccesses> by_system;
  std::vector<std::vector<Extent>> kept_extents;
  std::vector<Strand*> waiting;
  int arrived = 0;
  size_t outstanding = 0;
  std::shared_ptr<DirectedCall> until_done;
};

void join_directed(SharedFile& file, DirectedShare share) {
  const int tag = share.tag;
  const int ranks = share.ranks;
  const SimTime now = share.time;
  std::shared_ptr<DirectedCall>& slot = file.directed_calls[tag];
  if (slot == nullptr) slot = std::make_shared<DirectedCall>();
  const std::shared_ptr<DirectedCall> call = slot;
  call->add(std::move(share));
  if (call->arrived < ranks) return;
  file.directed_calls.erase(tag);
  call->start(now, call);
}

namespace {

// The first `bytes` of the extents.
std::vector<Extent> first_bytes_of(std::span<const Extent> extents, uint64_t bytes) {
  std::vector<Extent> kept;
  for (const Extent& extent : extents) {
    if (bytes == 0) break;
    kept.push_back({extent.offset, std::min(extent.bytes, bytes)});
    bytes -= kept.back().bytes;
  }
  return kept;
}

}  // namespace

// The access starts when all ranks have arrived, and no rank resumes before all of it is complete.
int access_disk_directed(Strand& strand, Transfer& transfer, FileObject& file,
                         FileRequest& request) {
  MPI_TRY(collectives::barrier(transfer));
  yield_for_files(strand);
  SortedRequest sorted(request);
  uint64_t moved = 0;
  const int error = move_bytes(file, sorted.direction(), sorted.extents(), sorted.data(), &moved);
  const std::vector<Extent> extents = first_bytes_of(sorted.extents(), moved);
  World& world = strand.rank->world;

  DirectedShare share;
  share.tag = transfer.tag();
  share.ranks = transfer.size();
  share.time = strand.departure();
  share.strand = &strand;
  share.access = file.open->access(sorted.direction(), client_of(strand), extents);
  if (file.path().is_simulated() && !extents.empty()) share.system = file.path().system;
  if (world.remote != nullptr && share.system != nullptr && !world.mounts->is_shared(*share.system))
    world.remote->refuse("disk-directed I/O on file systems of nodes");
  const bool copies_use_interface = share.system != nullptr && is_copied(world, *share.system);
  Interface& interface = strand.rank->interface;
  if (copies_use_interface) interface.begin_copied_access();
  shared_files(world).tell_directed(*file.shared, share);
  world.executive.add_model_waits(1);
  join_directed(*file.shared, std::move(share));
  world.executive.block();
  if (copies_use_interface) interface.end_copied_access();
  MPI_TRY(error);
  sorted.finish(moved);
  return transfer.error();
}

}  // namespace sesame::mpi
