// The collective strategies, and what they and independent accesses share. Each is called by all
// ranks of the file's communicator; docs/models/collective-io.md says where each comes from.
#pragma once

#include "core/mpi/io/transfer_file.h"

namespace sesame::mpi {

// Each element of the request by an access of its own, in order.
int access_by_element(Strand& strand, FileObject& file, FileRequest& request);

// Charges a read and a write of the whole window; of the bytes, only the pieces in it change.
int read_modify_write(Strand& strand, FileObject& file, storage::Extent window,
                      std::span<const storage::Extent> pieces, std::byte* data);

// All wait for each other, then each goes by element.
int access_after_barrier(Strand& strand, Transfer& transfer, FileObject& file,
                         FileRequest& request);
// Groups of group_size ranks, one group after the other.
int access_in_groups(Strand& strand, Transfer& transfer, FileObject& file, FileRequest& request);
// Aggregators access the file in large pieces, messages bring the data from and to the ranks.
int access_two_phase(Strand& strand, Transfer& transfer, FileObject& file, FileRequest& request);
// The I/O nodes get all lists and move the data in their own order.
int access_disk_directed(Strand& strand, Transfer& transfer, FileObject& file,
                         FileRequest& request);

}  // namespace sesame::mpi
