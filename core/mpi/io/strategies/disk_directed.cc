// Disk-directed I/O (Kotz, "Disk-directed I/O for MIMD multiprocessors", 1994 and 1997).
#include <algorithm>

#include "core/mpi/collectives/barrier.h"
#include "core/mpi/io/file_time.h"
#include "core/mpi/io/sorted_request.h"
#include "core/mpi/io/strategies/strategies.h"
#include "core/mpi/messages/world.h"
#include "core/mpi/objects/errors.h"

namespace sesame::mpi {

using storage::Access;
using storage::Extent;

// One call of all ranks: collects their accesses until the last rank has arrived, and the strands
// that wait. Ranks on different nodes may have different file systems.
struct DirectedCall : storage::Completion {
  struct SystemAccesses {
    storage::FileSystem* system;
    std::vector<Access> accesses;
  };

  void add(storage::FileSystem* system, const Access& access) {
    auto entry = std::ranges::find(by_system, system, &SystemAccesses::system);
    if (entry == by_system.end()) entry = by_system.insert(by_system.end(), {system, {}});
    entry->accesses.push_back(access);
  }
  void start(SimTime now) {
    outstanding = by_system.size();
    for (const SystemAccesses& entry : by_system)
      entry.system->access_directed(now, entry.accesses, *this);
    if (by_system.empty()) wake_all(now);
  }
  void done(SimTime at) override {
    if (--outstanding == 0) wake_all(at);
  }
  void wake_all(SimTime at) {
    for (Strand* strand : waiting) {
      strand->waited += strand->wait_until(at, PathKind::kFile);
      strand->rank->world.executive.make_ready(*strand);
    }
  }

  std::vector<SystemAccesses> by_system;
  std::vector<Strand*> waiting;
  size_t outstanding = 0;
};

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
  yield_until_now(strand);
  SortedRequest sorted(request);
  uint64_t moved = 0;
  const int error = move_bytes(file, sorted.direction(), sorted.extents(), sorted.data(), &moved);
  const std::vector<Extent> extents = first_bytes_of(sorted.extents(), moved);
  Rank& rank = *strand.rank;

  auto& calls = file.shared->directed_calls;
  std::shared_ptr<DirectedCall>& slot = calls[transfer.tag()];
  if (slot == nullptr) slot = std::make_shared<DirectedCall>();
  const std::shared_ptr<DirectedCall> call = slot;
  if (file.path().is_simulated() && !extents.empty()) {
    call->add(file.path().system,
              file.open->access(sorted.direction(), client_of(strand), extents));
  }
  call->waiting.push_back(&strand);
  if (call->waiting.size() == static_cast<size_t>(transfer.size())) {
    calls.erase(transfer.tag());
    call->start(strand.departure());
  }
  rank.world.executive.block();
  MPI_TRY(error);
  sorted.finish(moved);
  return transfer.error();
}

}  // namespace sesame::mpi
