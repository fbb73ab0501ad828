// A request in the order of the file: extents that rise and neither touch nor overlap, and the data
// packed in that order. That is the request's own data unless it jumps about in the file.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/mpi/io/transfer_file.h"

namespace sesame::mpi {

// Sorts extents and joins those that touch or overlap.
void sort_and_join(std::vector<storage::Extent>& extents);

class SortedRequest {
 public:
  // The request must stay where it is.
  explicit SortedRequest(FileRequest& request);

  storage::Direction direction() const { return request_.direction; }
  std::span<const storage::Extent> extents() const { return extents_; }
  bool empty() const { return extents_.empty(); }
  uint64_t begin() const { return extents_.front().offset; }
  uint64_t end() const { return extents_.back().offset + extents_.back().bytes; }
  uint64_t bytes() const { return bytes_; }
  std::byte* data() const { return data_; }

  // All of a write is in the file, or the first `valid` bytes of a read are in data(), the rest
  // lies beyond the end of the file: the request gets what it asked for.
  void finish(uint64_t valid);

 private:
  bool join_in_order();
  void copy_sorted();
  uint64_t position_of(uint64_t offset) const;

  FileRequest& request_;
  std::vector<storage::Extent> extents_;
  uint64_t bytes_ = 0;
  std::byte* data_;
  std::unique_ptr<std::byte[]> copy_;  // with the three below only if the request jumps about
  std::vector<uint64_t> starts_;       // of the extents in the data
};

}  // namespace sesame::mpi
