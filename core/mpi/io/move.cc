// One access of a rank to a file: moves the bytes and charges the modelled time.
#include <algorithm>
#include <cstring>

#include "core/mpi/io/file_errors.h"
#include "core/mpi/io/file_time.h"
#include "core/mpi/io/transfer_file.h"
#include "core/mpi/objects/errors.h"

namespace sesame::mpi {
namespace {

using storage::Extent;

// The parts of the extents that are before `end`.
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
  const bool reads = direction == storage::Direction::kRead;
  if (!reads) *moved = bytes_of(extents);
  const int error = reads ? file.open->read(extents, data, moved) : file.open->write(extents, data);
  if (error == 0) return MPI_SUCCESS;
  return fail_host_call(reads ? "read" : "write", file.shared->name, error);
}

void charge_access_time(Strand& strand, FileObject& file, storage::Direction direction,
                        std::span<const Extent> extents) {
  std::vector<Extent> present;
  uint64_t size = 0;
  if (direction == storage::Direction::kRead && file.open->size(&size) == 0 &&
      storage::end_of(extents) > size) {
    present = before(extents, size);
    extents = present;
  }
  if (extents.empty()) return;
  storage::Access access = file.open->access(direction, client_of(strand), extents);
  access.seeks_each = file.collective.literal_io_list;
  charge_access(strand, file.path(), access);
}

// The bytes move at the start of the access. MPI leaves open whether another rank's access that
// overlaps this one in time sees them.
int access_extents(Strand& strand, FileObject& file, storage::Direction direction,
                   std::span<const Extent> extents, std::byte* data, uint64_t* moved) {
  yield_for_files(strand);
  MPI_TRY(move_bytes(file, direction, extents, data, moved));
  charge_access_time(strand, file, direction, extents);
  return MPI_SUCCESS;
}

}  // namespace sesame::mpi
