// SortedRequest: a request in the order of the file. Its extents ascend, do not overlap and are not
// adjacent; its data is packed in the same order. The data is the request's own buffer if the
// request is in order already, otherwise a sorted copy.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/mpi/io/transfer_file.h"

namespace sesame::mpi {

// Sorts extents and joins adjacent and overlapping ones.
void sort_and_join(std::vector<storage::Extent>& extents);

class SortedRequest {
 public:
  // `request` must outlive it and not move.
  explicit SortedRequest(FileRequest& request);

  storage::Direction direction() const { return request_.direction; }
  std::span<const storage::Extent> extents() const { return extents_; }
  bool empty() const { return extents_.empty(); }
  uint64_t begin() const { return extents_.front().offset; }
  uint64_t end() const { return extents_.back().offset + extents_.back().bytes; }
  uint64_t bytes() const { return bytes_; }
  std::byte* data() const { return data_; }

  // Call it at the end. For reads, pass the number of bytes of data() that were read; the others
  // are beyond the end of the file. Copies the data to the request. For writes, pass bytes().
  void finish(uint64_t valid);

 private:
  bool join_in_order();
  void copy_sorted();
  uint64_t data_offset(uint64_t offset) const;

  FileRequest& request_;
  std::vector<storage::Extent> extents_;
  uint64_t bytes_ = 0;
  std::byte* data_;
  std::unique_ptr<std::byte[]> copy_;  // this and data_offsets_ only if the request is not in order
  std::vector<uint64_t> data_offsets_;  // by extent: its offset in the data
};

}  // namespace sesame::mpi
