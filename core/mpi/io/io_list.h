// I/O lists: the extents of a file that hold data of a view. Positions count elementary items
// (etypes) of the view; offsets and sizes are bytes of the file.
#pragma once

#include <cstdint>
#include <vector>

#include "core/mpi/io/file.h"
#include "core/storage/access.h"

namespace sesame::mpi {

// Returns the extents that hold `bytes` bytes of the view's data from `position` on, in the order
// of the data. Adjacent extents are joined. If `literal`, the list is that of PIO-SIM (SESAME
// report, 8.2.3): it has one element for each elementary item, and empty elements for the first
// seek and for the bounds of sub-arrays.
std::vector<storage::Extent> make_io_list(const FileView& view, int64_t position, int64_t bytes,
                                          bool literal);

// The offset in the file of the item at this position.
int64_t byte_offset(const FileView& view, int64_t position);

// The number of elementary items of the view that start before this offset in the file. For the
// file's size this is the position of the end of the file.
int64_t items_below(const FileView& view, uint64_t file_offset);

}  // namespace sesame::mpi
