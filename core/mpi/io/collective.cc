#include "core/mpi/collectives/allgather.h"
#include "core/mpi/io/sorted_request.h"
#include "core/mpi/io/strategies/strategies.h"
#include "core/mpi/objects/errors.h"

namespace sesame::mpi {
namespace {

using machine::CollectiveStrategy;
using machine::CollectiveUse;

// Whether the range of some rank overlaps that of the previous rank (ROMIO's test).
bool ranges_interleave(Transfer& transfer, const SortedRequest& sorted) {
  struct Range {
    uint64_t first = 0;
    uint64_t last = 0;
  };
  // As in ROMIO, the range of an empty request ends before it starts.
  Range mine{UINT64_MAX, 0};
  if (!sorted.empty()) mine = {sorted.begin(), sorted.end() - 1};
  std::vector<Range> all(static_cast<size_t>(transfer.size()));
  const DatatypeRef bytes(&collectives::byte_type());
  collectives::allgather(transfer, {&mine, sizeof(Range), bytes},
                         {all.data(), sizeof(Range), bytes});
  for (size_t i = 1; i < all.size(); ++i) {
    if (all[i].first < all[i - 1].last && all[i].first <= all[i].last) return true;
  }
  return false;
}

bool is_worth_it(Transfer& transfer, CollectiveUse use, FileRequest& request) {
  if (use == CollectiveUse::kInterleaved)
    return ranges_interleave(transfer, SortedRequest(request));
  return use == CollectiveUse::kAlways;
}

}  // namespace

int access_collective(Strand& strand, Transfer& transfer, FileObject& file, FileRequest& request) {
  const machine::CollectiveParameters& parameters = file.collective;
  const bool reads = request.direction == storage::Direction::kRead;
  if (!is_worth_it(transfer, reads ? parameters.cb_read : parameters.cb_write, request)) {
    return access_independent(strand, file, request);
  }
  switch (parameters.strategy) {
    case CollectiveStrategy::kBarrier:
      return access_after_barrier(strand, transfer, file, request);
    case CollectiveStrategy::kGrouping:
      return access_in_groups(strand, transfer, file, request);
    case CollectiveStrategy::kTwoPhase:
      return access_two_phase(strand, transfer, file, request);
    case CollectiveStrategy::kDiskDirected:
      return access_disk_directed(strand, transfer, file, request);
  }
  __builtin_unreachable();
}

}  // namespace sesame::mpi
