// FileRequest: the data that one call of a rank moves between a file and a packed buffer.
// access_independent() executes it, with data sieving if that is enabled; access_collective() does
// so by a collective strategy. Both consist of calls of access_extents(), which moves the bytes of
// some extents and charges the modelled time. Extents are bytes of the file. Functions run on the
// strand and block it. They return an MPI error class (MPI_ERR_NO_SPACE, MPI_ERR_IO, …).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/mpi/io/file.h"
#include "core/mpi/messages/transfer.h"
#include "core/storage/access.h"

namespace sesame::mpi {

struct Strand;

// Extents of the file in the order of the data, and the packed data. The extents of a write do not
// overlap. They may be in any order.
struct FileRequest {
  storage::Direction direction = storage::Direction::kRead;
  std::vector<storage::Extent> extents;  // of the I/O list (io_list.h)
  std::byte* data = nullptr;             // the bytes of all extents; not owned
  uint64_t moved = 0;                    // result of reads: bytes up to the end of the file
};

// One access to the file system: yields until now, moves the bytes, and charges the modelled time
// to the strand's clock. A read leaves the bytes of `data` beyond the end of the file unchanged.
int access_extents(Strand& strand, FileObject& file, storage::Direction direction,
                   std::span<const storage::Extent> extents, std::byte* data, uint64_t* moved);

// The two halves of access_extents(), for accesses in which the file system moves more bytes than
// requested, as in data sieving. Call yield_for_files() before. move_bytes() moves the bytes,
// charge_access_time() charges the time. For a read both stop at the end of the file.
int move_bytes(FileObject& file, storage::Direction direction,
               std::span<const storage::Extent> extents, std::byte* data, uint64_t* moved);
void charge_access_time(Strand& strand, FileObject& file, storage::Direction direction,
                        std::span<const storage::Extent> extents);

// The access of MPI_File_read, _write and the like.
int access_independent(Strand& strand, FileObject& file, FileRequest& request);

// The access of MPI_File_read_all and the like, by the file's strategy (strategies/). All ranks of
// the file's communicator must call it, also with empty requests. `transfer` sends the messages.
int access_collective(Strand& strand, Transfer& transfer, FileObject& file, FileRequest& request);

}  // namespace sesame::mpi
