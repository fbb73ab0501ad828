// One access of a rank to a file: the bytes, and the time that the model says it takes.
#include <algorithm>
#include <cstring>

#include "core/mpi/io/file_time.h"
#include "core/mpi/io/transfer_file.h"
#include "core/mpi/objects/errors.h"

namespace sesame::mpi {
namespace {

using storage::Extent;

[[gnu::cold]] int io_failure(const FileObject& file, int error, const char* doing) {
  const storage::Place& place = file.place();
  if (place.system != nullptr) this_rank().world.mounts->note_failure(place.path, error);
  return fail(file_error_class(error), std::string("cannot ") + doing + " " + file.shared->name +
                                           ": " + std::string(strerrordesc_np(error)));
}

// How many extents from the first on lie one behind the other, and their bytes together.
size_t run_of(std::span<const Extent> extents, uint64_t* bytes) {
  *bytes = extents[0].bytes;
  size_t count = 1;
  while (count < extents.size() &&
         (extents[count].bytes == 0 || extents[count].offset == extents[0].offset + *bytes)) {
    *bytes += extents[count++].bytes;
  }
  return count;
}

uint64_t end_of(std::span<const Extent> extents) {
  uint64_t end = 0;
  for (const Extent& extent : extents)
    if (extent.bytes > 0) end = std::max(end, extent.offset + extent.bytes);
  return end;
}

// Room for everything, before the first byte is written.
int make_room(FileObject& file, uint64_t end) {
  uint64_t size = 0;
  if (const int error = file.real->size(&size); error != 0)
    return io_failure(file, error, "ask for");
  if (end <= size) return MPI_SUCCESS;
  const storage::Place& place = file.place();
  if (place.system != nullptr && !place.system->resize(place.file, end)) {
    return fail(MPI_ERR_NO_SPACE, "the file system has no room for " + file.shared->name);
  }
  if (!file.shared->discards_data) return MPI_SUCCESS;
  const int error = file.real->resize(end);
  return error == 0 ? MPI_SUCCESS : io_failure(file, error, "lengthen");
}

int write_bytes(FileObject& file, std::span<const Extent> extents, const std::byte* data) {
  MPI_TRY(make_room(file, end_of(extents)));
  while (!file.shared->discards_data && !extents.empty()) {
    uint64_t bytes;
    const size_t count = run_of(extents, &bytes);
    if (const int error = file.real->write(data, bytes, extents[0].offset); error != 0) {
      return io_failure(file, error, "write");
    }
    data += bytes;
    extents = extents.subspan(count);
  }
  return MPI_SUCCESS;
}

int read_zeros(FileObject& file, uint64_t offset, uint64_t bytes, std::byte* data, uint64_t* done) {
  uint64_t size = 0;
  if (const int error = file.real->size(&size); error != 0) return error;
  *done = offset >= size ? 0 : std::min(bytes, size - offset);
  std::fill_n(data, *done, std::byte{0});
  return 0;
}

// Up to the first byte that is not there.
int read_bytes(FileObject& file, std::span<const Extent> extents, std::byte* data,
               uint64_t* moved) {
  for (*moved = 0; !extents.empty();) {
    uint64_t bytes;
    const size_t count = run_of(extents, &bytes);
    uint64_t done = 0;
    const int error = file.shared->discards_data
                          ? read_zeros(file, extents[0].offset, bytes, data, &done)
                          : file.real->read(data, bytes, extents[0].offset, &done);
    if (error != 0) return io_failure(file, error, "read");
    *moved += done;
    if (done < bytes) break;
    data += bytes;
    extents = extents.subspan(count);
  }
  return MPI_SUCCESS;
}

// What of the extents lies before the end of the file.
std::vector<Extent> before(std::span<const Extent> extents, uint64_t end) {
  std::vector<Extent> kept;
  for (const Extent& extent : extents) {
    if (extent.offset < end)
      kept.push_back({extent.offset, std::min(extent.bytes, end - extent.offset)});
  }
  return kept;
}

}  // namespace

int move_bytes(FileObject& file, storage::Direction direction, std::span<const Extent> extents,
               std::byte* data, uint64_t* moved) {
  if (direction == storage::Direction::kRead) return read_bytes(file, extents, data, moved);
  *moved = bytes_of(extents);
  return write_bytes(file, extents, data);
}

void spend_access(Strand& strand, FileObject& file, storage::Direction direction,
                  std::span<const Extent> extents) {
  std::vector<Extent> present;
  uint64_t size = 0;
  if (direction == storage::Direction::kRead && file.real->size(&size) == 0 &&
      end_of(extents) > size) {
    present = before(extents, size);
    extents = present;
  }
  const storage::Place& place = file.place();
  if (place.system == nullptr || extents.empty()) return;
  FileWait wait(strand);
  place.system->access(
      strand.now,
      {direction, place.file, client_of(strand), extents, file.collective.literal_io_list}, wait);
  wait.wait();
}

// The bytes move when the access begins. Whether another rank's access that overlaps it in time
// sees them is open in MPI, too.
int move(Strand& strand, FileObject& file, storage::Direction direction,
         std::span<const Extent> extents, std::byte* data, uint64_t* moved) {
  yield_until_now(strand);
  MPI_TRY(move_bytes(file, direction, extents, data, moved));
  spend_access(strand, file, direction, extents);
  return MPI_SUCCESS;
}

}  // namespace sesame::mpi
