// The simulated time of file operations: each function makes one request to a file system and
// blocks the strand until its completion. MPI-IO and the program's POSIX calls both use them. A
// request is made at the time of the strand's clock. Call yield_for_files() before, so that
// requests reach the file system in the order of simulated time. Files of the host take no time.
#pragma once

#include "core/mpi/io/waiting.h"
#include "core/mpi/messages/rank.h"
#include "core/storage/file_system.h"
#include "core/storage/mounts.h"

namespace sesame::mpi {

// Yields until everything before the strand's time has happened, before the strand uses what all
// ranks share: files. In a parallel simulation no rank of another worker uses them until the strand
// yields again.
void yield_for_files(Strand& strand);

// The strand's rank as the client of a request.
storage::Client client_of(const Strand& strand);

// Blocks the strand for one request to the metadata service.
void charge_metadata(Strand& strand, const storage::ResolvedPath& path, storage::MetadataCall call);
// Blocks the strand for an access (OpenFile::access()).
void charge_access(Strand& strand, const storage::ResolvedPath& path,
                   const storage::Access& access);
// Blocks the strand until everything written to the file is on its devices.
void charge_flush(Strand& strand, const storage::ResolvedPath& path);

}  // namespace sesame::mpi
