// Two-phase I/O: what an aggregator knows of all ranks' requests in its file domain
// (DomainRequests), and those in the window of one round (WindowExtents). Offsets and sizes are
// bytes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/storage/access.h"

namespace sesame::mpi {

// The requested extents of one window of the file; DomainRequests::extract() makes it. Their bytes
// are packed in a buffer, without the holes; bytes that several ranks request are there once.
struct WindowExtents {
  struct Share {
    int rank = 0;
    size_t first = 0;  // the first of its extents, in WindowExtents::extents
    size_t count = 0;
    uint64_t bytes = 0;
  };

  storage::Extent range;
  std::vector<Share> shares;  // in the order of ranks; only ranks that request something
  // The extents of the first share, then those of the second, …; ascending in each share.
  std::vector<storage::Extent> extents;
  std::vector<storage::Extent> runs;  // all extents, sorted and joined
  std::vector<uint64_t> run_offsets;  // by run: its offset in the buffer
  uint64_t packed_bytes = 0;

  bool empty() const { return shares.empty(); }
  bool has_holes() const { return packed_bytes < range.bytes; }
  bool has_overlaps() const;
  std::span<const storage::Extent> extents_of(const Share& share) const {
    return std::span(extents).subspan(share.first, share.count);
  }
  // The offset in the buffer of a requested byte of the file.
  uint64_t buffer_offset(uint64_t offset) const;
  // Whether the share's bytes are contiguous in the buffer.
  bool is_contiguous(const Share& share) const;

 private:
  friend class DomainRequests;
  void pack();  // computes runs, run_offsets and packed_bytes
};

class DomainRequests {
 public:
  // Adds a rank's extents in this domain, sorted and without overlaps, at least one. Call it in the
  // order of ranks.
  void add(int rank, std::vector<storage::Extent> extents);

  bool empty() const { return requesters_.empty(); }
  uint64_t begin() const { return begin_; }
  uint64_t end() const { return end_; }
  // The extents in this window. Call it with windows in ascending order.
  WindowExtents extract(storage::Extent window);

 private:
  struct Requester {
    int rank;
    std::vector<storage::Extent> extents;
    size_t next = 0;
    uint64_t taken_bytes = 0;  // bytes of the next extent that were in earlier windows
  };

  std::vector<Requester> requesters_;
  uint64_t begin_ = UINT64_MAX;
  uint64_t end_ = 0;
};

}  // namespace sesame::mpi
