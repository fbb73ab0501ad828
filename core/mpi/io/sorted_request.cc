#include "core/mpi/io/sorted_request.h"

#include <algorithm>
#include <cstring>

namespace sesame::mpi {

using storage::Extent;

void sort_and_join(std::vector<Extent>& extents) {
  const auto before = [](const Extent& a, const Extent& b) { return a.offset < b.offset; };
  if (!std::ranges::is_sorted(extents, before)) std::ranges::sort(extents, before);
  size_t last = 0;
  for (size_t i = 1; i < extents.size(); ++i) {
    const uint64_t end = extents[last].offset + extents[last].bytes;
    if (extents[i].offset > end) {
      extents[++last] = extents[i];
    } else {
      const uint64_t new_end = std::max(end, extents[i].offset + extents[i].bytes);
      extents[last].bytes = new_end - extents[last].offset;
    }
  }
  if (!extents.empty()) extents.resize(last + 1);
}

SortedRequest::SortedRequest(FileRequest& request) : request_(request), data_(request.data) {
  if (!join_in_order()) copy_sorted();
}

// Returns false if the request is not in order.
bool SortedRequest::join_in_order() {
  for (const Extent& extent : request_.extents) {
    if (extent.bytes == 0) continue;
    bytes_ += extent.bytes;
    if (extents_.empty() || extent.offset > end()) {
      extents_.push_back(extent);
    } else if (extent.offset == end()) {
      extents_.back().bytes += extent.bytes;
    } else {
      return false;
    }
  }
  return true;
}

void SortedRequest::copy_sorted() {
  extents_ = request_.extents;
  std::erase_if(extents_, [](const Extent& extent) { return extent.bytes == 0; });
  sort_and_join(extents_);
  bytes_ = 0;
  for (const Extent& extent : extents_) {
    data_offsets_.push_back(bytes_);
    bytes_ += extent.bytes;
  }
  copy_ = std::make_unique_for_overwrite<std::byte[]>(bytes_);
  data_ = copy_.get();
  if (request_.direction == storage::Direction::kRead) return;
  const std::byte* from = request_.data;
  for (const Extent& extent : request_.extents) {
    if (extent.bytes > 0) std::memcpy(data_ + data_offset(extent.offset), from, extent.bytes);
    from += extent.bytes;
  }
}

uint64_t SortedRequest::data_offset(uint64_t offset) const {
  const auto after = std::ranges::upper_bound(extents_, offset, {}, &Extent::offset);
  const auto index = static_cast<size_t>(after - extents_.begin()) - 1;
  return data_offsets_[index] + (offset - extents_[index].offset);
}

void SortedRequest::finish(uint64_t valid) {
  request_.moved = valid;
  if (copy_ == nullptr) return;
  request_.moved = 0;
  bool at_end = false;
  std::byte* to = request_.data;
  for (const Extent& extent : request_.extents) {
    if (extent.bytes == 0) continue;
    const uint64_t offset = data_offset(extent.offset);
    const uint64_t available = valid > offset ? std::min(valid - offset, extent.bytes) : 0;
    if (request_.direction == storage::Direction::kRead) std::memcpy(to, data_ + offset, available);
    if (!at_end) request_.moved += available;
    at_end = at_end || available < extent.bytes;
    to += extent.bytes;
  }
}

}  // namespace sesame::mpi
