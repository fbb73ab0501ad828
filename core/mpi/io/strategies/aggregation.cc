#include "core/mpi/io/strategies/aggregation.h"

#include <algorithm>

#include "core/mpi/io/sorted_request.h"

namespace sesame::mpi {

using storage::Extent;

void WindowParts::pack() {
  runs = parts;
  sort_and_join(runs);
  for (const Extent& run : runs) {
    run_places.push_back(packed_bytes);
    packed_bytes += run.bytes;
  }
}

bool WindowParts::has_overlaps() const {
  uint64_t bytes = 0;
  for (const Share& share : shares) bytes += share.bytes;
  return bytes > packed_bytes;
}

uint64_t WindowParts::position_of(uint64_t offset) const {
  const auto after = std::ranges::upper_bound(runs, offset, {}, &Extent::offset);
  const auto index = static_cast<size_t>(after - runs.begin()) - 1;
  return run_places[index] + (offset - runs[index].offset);
}

bool WindowParts::is_in_a_row(const Share& share) const {
  const std::span<const Extent> own = parts_of(share);
  const uint64_t last_end = position_of(own.back().offset) + own.back().bytes;
  return last_end - position_of(own.front().offset) == share.bytes;
}

void DomainRequests::add(int rank, std::vector<Extent> pieces) {
  begin_ = std::min(begin_, pieces.front().offset);
  end_ = std::max(end_, pieces.back().offset + pieces.back().bytes);
  askers_.push_back({rank, std::move(pieces)});
}

WindowParts DomainRequests::take(Extent window) {
  WindowParts taken;
  taken.window = window;
  const uint64_t limit = window.offset + window.bytes;
  for (Asker& asker : askers_) {
    WindowParts::Share share{asker.rank, taken.parts.size(), 0, 0};
    while (asker.next < asker.pieces.size()) {
      const Extent& piece = asker.pieces[asker.next];
      const uint64_t offset = piece.offset + asker.done;
      if (offset >= limit) break;
      const uint64_t end = std::min(piece.offset + piece.bytes, limit);
      taken.parts.push_back({offset, end - offset});
      ++share.count;
      share.bytes += end - offset;
      if (end == limit && end < piece.offset + piece.bytes) {
        asker.done = end - piece.offset;
        break;
      }
      ++asker.next;
      asker.done = 0;
    }
    if (share.count > 0) taken.shares.push_back(share);
  }
  taken.pack();
  return taken;
}

}  // namespace sesame::mpi
