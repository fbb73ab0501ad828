// I/O lists: where in a file the data of a view lies. Positions count elementary items (etypes) of
// the view, offsets bytes of the file.
#pragma once

#include <cstdint>
#include <vector>

#include "core/mpi/io/file.h"
#include "core/storage/access.h"

namespace sesame::mpi {

// The pieces of the file that hold `bytes` bytes of the view's data from `position` on, in the
// order of the data. Neighbours are joined, unless the list is to be literal: then it has an
// element for each elementary item, and empty ones for the first positioning and for the bounds
// of sub-arrays, as PIO-SIM built it (SESAME report, 8.2.3).
std::vector<storage::Extent> make_io_list(const FileView& view, int64_t position, int64_t bytes,
                                          bool literal);

// The byte of the file at which the item at this position begins.
int64_t byte_offset(const FileView& view, int64_t position);

// How many elementary items of the view begin below this size of the file: the position of the end
// of the file.
int64_t items_below(const FileView& view, uint64_t file_bytes);

}  // namespace sesame::mpi
