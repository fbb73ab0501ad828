// Two-phase I/O: what an aggregator knows of the others' requests in its file domain, and the part
// of that in one round's window.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/storage/access.h"

namespace sesame::mpi {

// The wanted parts of one window of the file. The bytes lie packed in a buffer, those that several
// ranks want once.
struct WindowParts {
  struct Share {
    int rank = 0;
    size_t first = 0;  // of its parts
    size_t count = 0;
    uint64_t bytes = 0;
  };

  storage::Extent window;
  std::vector<Share> shares;           // by rank, only of ranks that want something
  std::vector<storage::Extent> parts;  // of the first share, of the second, …; rising in each
  std::vector<storage::Extent> runs;   // all parts, sorted and joined
  std::vector<uint64_t> run_places;    // where each is in the buffer
  uint64_t packed_bytes = 0;

  bool empty() const { return shares.empty(); }
  bool has_holes() const { return packed_bytes < window.bytes; }
  bool has_overlaps() const;
  std::span<const storage::Extent> parts_of(const Share& share) const {
    return std::span(parts).subspan(share.first, share.count);
  }
  uint64_t position_of(uint64_t offset) const;
  // Whether the share's bytes lie in a row in the buffer.
  bool is_in_a_row(const Share& share) const;

  void pack();  // makes runs of the parts
};

class DomainRequests {
 public:
  // What a rank wants here, sorted and without overlaps. Ranks come in rising order.
  void add(int rank, std::vector<storage::Extent> pieces);

  bool empty() const { return askers_.empty(); }
  uint64_t begin() const { return begin_; }
  uint64_t end() const { return end_; }
  // The parts in this window; windows come in rising order.
  WindowParts take(storage::Extent window);

 private:
  struct Asker {
    int rank;
    std::vector<storage::Extent> pieces;
    size_t next = 0;
    uint64_t done = 0;  // bytes of the next piece that earlier windows had
  };

  std::vector<Asker> askers_;
  uint64_t begin_ = UINT64_MAX;
  uint64_t end_ = 0;
};

}  // namespace sesame::mpi
