#include "core/mpi/io/strategies/aggregation.h"

#include <algorithm>

#include "core/mpi/io/sorted_request.h"

namespace sesame::mpi {

using storage::Extent;

void WindowExtents::pack() {
  runs = extents;
  sort_and_join(runs);
  for (const Extent& run : runs) {
    run_offsets.push_back(packed_bytes);
    packed_bytes += run.bytes;
  }
}

bool WindowExtents::has_overlaps() const {
  uint64_t bytes = 0;
  for (const Share& share : shares) bytes += share.bytes;
  return bytes > packed_bytes;
}

uint64_t WindowExtents::buffer_offset(uint64_t offset) const {
  const auto after = std::ranges::upper_bound(runs, offset, {}, &Extent::offset);
  const auto index = static_cast<size_t>(after - runs.begin()) - 1;
  return run_offsets[index] + (offset - runs[index].offset);
}

bool WindowExtents::is_contiguous(const Share& share) const {
  const std::span<const Extent> of_share = extents_of(share);
  const uint64_t last_end = buffer_offset(of_share.back().offset) + of_share.back().bytes;
  return last_end - buffer_offset(of_share.front().offset) == share.bytes;
}

void DomainRequests::add(int rank, std::vector<Extent> extents) {
  begin_ = std::min(begin_, extents.front().offset);
  end_ = std::max(end_, extents.back().offset + extents.back().bytes);
  requesters_.push_back({rank, std::move(extents)});
}

WindowExtents DomainRequests::extract(Extent window) {
  WindowExtents taken;
  taken.range = window;
  const uint64_t limit = window.offset + window.bytes;
  for (Requester& requester : requesters_) {
    WindowExtents::Share share{requester.rank, taken.extents.size(), 0, 0};
    while (requester.next < requester.extents.size()) {
      const Extent& extent = requester.extents[requester.next];
      const uint64_t offset = extent.offset + requester.taken_bytes;
      if (offset >= limit) break;
      const uint64_t end = std::min(extent.offset + extent.bytes, limit);
      taken.extents.push_back({offset, end - offset});
      ++share.count;
      share.bytes += end - offset;
      if (end == limit && end < extent.offset + extent.bytes) {
        requester.taken_bytes = end - extent.offset;
        break;
      }
      ++requester.next;
      requester.taken_bytes = 0;
    }
    if (share.count > 0) taken.shares.push_back(share);
  }
  taken.pack();
  return taken;
}

}  // namespace sesame::mpi
