// Independent accesses, with data sieving if there are holes between the extents (Thakur, Gropp and
// Lusk, "Data sieving and collective I/O in ROMIO", 1999; windows as in ROMIO's ad_read_str.c and
// ad_write_str.c). The file system sees accesses to whole windows of a buffer's size; the caller
// gets its extents. A write locks a window, reads it and writes it back. Only the extents' bytes
// are really written: the bytes of holes, which another rank may write at the same time, stay as
// they are.
#include <algorithm>

#include "core/mpi/io/file_time.h"
#include "core/mpi/io/shared_files.h"
#include "core/mpi/io/sorted_request.h"
#include "core/mpi/io/strategies/strategies.h"
#include "core/mpi/messages/rank.h"
#include "core/mpi/objects/errors.h"

namespace sesame::mpi {
namespace {

using storage::Extent;

// The windows of a request, one after the other. Each starts at a requested byte and ends after a
// buffer's size, or at the end of the request.
class SievingWindows {
 public:
  SievingWindows(const SortedRequest& request, uint64_t buffer)
      : extents_(request.extents()), end_(request.end()), buffer_(std::max<uint64_t>(buffer, 1)) {}

  // Fills in the next window and the extents in it. Returns false after the last one.
  bool next(Extent& window, std::vector<Extent>& extents) {
    extents.clear();
    if (at_ == extents_.size()) return false;
    window.offset = extents_[at_].offset + done_;
    window.bytes = std::min(buffer_, end_ - window.offset);
    const uint64_t limit = window.offset + window.bytes;
    while (at_ < extents_.size() && extents_[at_].offset < limit) {
      const uint64_t offset = extents_[at_].offset + done_;
      const uint64_t end = extents_[at_].offset + extents_[at_].bytes;
      extents.push_back({offset, std::min(end, limit) - offset});
      if (end > limit) {
        done_ = limit - extents_[at_].offset;
        break;
      }
      ++at_;
      done_ = 0;
    }
    return true;
  }

 private:
  std::span<const Extent> extents_;
  uint64_t end_;
  uint64_t buffer_;
  size_t at_ = 0;
  uint64_t done_ = 0;  // bytes of extents_[at_] that are in earlier windows
};

int read_sieved(Strand& strand, FileObject& file, const SortedRequest& sorted, uint64_t* valid) {
  SievingWindows windows(sorted, file.collective.ind_rd_buffer_size);
  Extent window;
  std::vector<Extent> extents;
  std::byte* data = sorted.data();
  while (windows.next(window, extents)) {
    uint64_t moved = 0;
    yield_for_files(strand);
    MPI_TRY(move_bytes(file, storage::Direction::kRead, extents, data, &moved));
    charge_access_time(strand, file, storage::Direction::kRead, {&window, 1});
    *valid += moved;
    data += bytes_of(extents);
  }
  return MPI_SUCCESS;
}

int write_sieved(Strand& strand, FileObject& file, const SortedRequest& sorted) {
  RangeLocks& locks = locks_of(file);
  SievingWindows windows(sorted, file.collective.ind_wr_buffer_size);
  Extent window;
  std::vector<Extent> extents;
  std::byte* data = sorted.data();
  while (windows.next(window, extents)) {
    locks.lock(strand, window);
    const int error = read_modify_write(strand, file, window, extents, data);
    locks.unlock(strand, window);
    MPI_TRY(error);
    data += bytes_of(extents);
  }
  return MPI_SUCCESS;
}

}  // namespace

int read_modify_write(Strand& strand, FileObject& file, Extent window,
                      std::span<const Extent> extents, std::byte* data) {
  yield_for_files(strand);
  charge_access_time(strand, file, storage::Direction::kRead, {&window, 1});
  yield_for_files(strand);
  uint64_t moved = 0;
  MPI_TRY(move_bytes(file, storage::Direction::kWrite, extents, data, &moved));
  charge_access_time(strand, file, storage::Direction::kWrite, {&window, 1});
  return MPI_SUCCESS;
}

// Empty elements, which literal lists contain, are part of the access of the next element that is
// not empty; those at the end are part of the last access.
int access_by_element(Strand& strand, FileObject& file, FileRequest& request) {
  request.moved = 0;
  bool at_end = false;
  std::byte* data = request.data;
  std::span<const Extent> rest(request.extents);
  const auto is_empty = [](const Extent& extent) { return extent.bytes == 0; };
  while (!rest.empty()) {
    auto end = std::ranges::find_if_not(rest, is_empty);
    if (end != rest.end()) ++end;
    if (std::all_of(end, rest.end(), is_empty)) end = rest.end();
    const auto group = rest.first(static_cast<size_t>(end - rest.begin()));
    rest = rest.subspan(group.size());
    const uint64_t bytes = bytes_of(group);
    uint64_t moved = 0;
    MPI_TRY(access_extents(strand, file, request.direction, group, data, &moved));
    if (!at_end) request.moved += moved;
    at_end = at_end || moved < bytes;
    data += bytes;
  }
  return MPI_SUCCESS;
}

int access_independent(Strand& strand, FileObject& file, FileRequest& request) {
  if (!file.sieves(request.direction)) return access_by_element(strand, file, request);
  SortedRequest sorted(request);
  if (sorted.extents().size() < 2) return access_by_element(strand, file, request);
  uint64_t valid = sorted.bytes();
  if (request.direction == storage::Direction::kRead) {
    valid = 0;
    MPI_TRY(read_sieved(strand, file, sorted, &valid));
  } else {
    MPI_TRY(write_sieved(strand, file, sorted));
  }
  sorted.finish(valid);
  return MPI_SUCCESS;
}

}  // namespace sesame::mpi
