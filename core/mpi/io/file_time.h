// The time of file operations: what a strand asks of a simulated file system, and how it waits.
// MPI-IO and the program's POSIX calls both charge their time here.
//
// Each request is made at the strand's clock; call yield_until_now() before, so that requests reach
// the file system in order of simulated time. Files of the host take no time.
#pragma once

#include "core/mpi/io/waiting.h"
#include "core/mpi/messages/rank.h"
#include "core/storage/mounts.h"

namespace sesame::mpi {

storage::Client client_of(const Strand& strand);

// Blocks the strand for one request to the metadata service.
void charge_metadata(Strand& strand, const storage::ResolvedPath& path, storage::MetadataCall call);
// Blocks the strand for an access (OpenFile::access()).
void charge_access(Strand& strand, const storage::ResolvedPath& path,
                   const storage::Access& access);
// Blocks the strand until everything written to the file is on its devices.
void charge_flush(Strand& strand, const storage::ResolvedPath& path);

}  // namespace sesame::mpi
