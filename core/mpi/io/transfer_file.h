// FileRequest: the data that one rank moves between a file and a packed buffer.
// access_independent() and access_collective() carry it out, with data sieving or by a collective
// strategy; both are made of move(): the bytes of some extents, and the model's time for them.
//
// Extents are bytes of the file. Functions run on the strand and return an MPI error class
// (MPI_ERR_NO_SPACE, MPI_ERR_IO, …).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/mpi/io/file.h"
#include "core/mpi/messages/transfer.h"
#include "core/storage/access.h"

namespace sesame::mpi {

struct Strand;

// What one rank wants of one call: pieces of the file in the order of the data, and the data,
// packed. Pieces of a write do not overlap; they need not rise in writes to a view that does not.
struct FileRequest {
  storage::Direction direction = storage::Direction::kRead;
  std::vector<storage::Extent> extents;  // as the I/O list has them: see literal_io_list
  std::byte* data = nullptr;             // as many bytes as the extents together
  uint64_t moved = 0;                    // out: bytes until the end of the file, for reads
};

// One access as the file system sees it: yields until now, moves the bytes, and charges the
// modelled time to the strand's clock. Bytes of `data` that a read finds behind the end of the file
// stay as they are.
int move(Strand& strand, FileObject& file, storage::Direction direction,
         std::span<const storage::Extent> extents, std::byte* data, uint64_t* moved);

// The two halves of move(), for accesses in which the file system sees more than the caller wants,
// as in data sieving. Call yield_until_now() before. The first moves the bytes, a read up to the
// end of the file; the second charges the time, that of a read up to the end of the file, too.
int move_bytes(FileObject& file, storage::Direction direction,
               std::span<const storage::Extent> extents, std::byte* data, uint64_t* moved);
void charge_access_time(Strand& strand, FileObject& file, storage::Direction direction,
                        std::span<const storage::Extent> extents);

// MPI_File_read, _write and their like: with data sieving where that is asked for.
int access_independent(Strand& strand, FileObject& file, FileRequest& request);

// MPI_File_read_all and its like, by the file's strategy: one file each in strategies/. All ranks
// of the file's communicator take part, with empty requests too. Messages go over `transfer`.
int access_collective(Strand& strand, Transfer& transfer, FileObject& file, FileRequest& request);

}  // namespace sesame::mpi
