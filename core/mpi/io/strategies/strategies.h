// The collective strategies, and the functions that they share with independent accesses. All ranks
// of the file's communicator call a strategy, on their strands. docs/models/collective-io.md has
// the sources. All functions return an MPI error class.
#pragma once

#include <vector>

#include "core/mpi/io/transfer_file.h"

namespace sesame::mpi {

// One rank's share of a disk-directed call.
struct DirectedShare {
  int tag = 0;                            // of the collective call
  int ranks = 0;                          // that make the call
  SimTime time;                           // at which the rank has arrived
  storage::FileSystem* system = nullptr;  // null: nothing to access
  storage::Access access;
  std::vector<storage::Extent> kept_extents;  // access.extents, where nothing else keeps them
  Strand* strand = nullptr;                   // null: the rank is of another worker
};
// Adds the share to its call. The last one starts the access.
void join_directed(SharedFile& file, DirectedShare share);

// Independent: one access for each element of the request, in order.
int access_by_element(Strand& strand, FileObject& file, FileRequest& request);

// Charges a read and a write of the whole window, but writes only the bytes of the extents in it.
int read_modify_write(Strand& strand, FileObject& file, storage::Extent window,
                      std::span<const storage::Extent> extents, std::byte* data);

// Barrier: all ranks wait for each other, then each accesses its elements.
int access_after_barrier(Strand& strand, Transfer& transfer, FileObject& file,
                         FileRequest& request);
// Grouping: one group of group_size ranks after the other.
int access_in_groups(Strand& strand, Transfer& transfer, FileObject& file, FileRequest& request);
// Two-phase: aggregators access large ranges of the file; messages move the data between them and
// the ranks (two_phase.cc).
int access_two_phase(Strand& strand, Transfer& transfer, FileObject& file, FileRequest& request);
// Disk-directed: the I/O nodes get all lists and move the data in the order of their devices.
int access_disk_directed(Strand& strand, Transfer& transfer, FileObject& file,
                         FileRequest& request);

}  // namespace sesame::mpi
