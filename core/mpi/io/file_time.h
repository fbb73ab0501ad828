// What calls on files ask of a file system. Files of the host, on no simulated file system, take no
// time.
#pragma once

#include "core/mpi/io/file.h"
#include "core/mpi/io/waiting.h"
#include "core/mpi/messages/world.h"
#include "core/storage/access.h"

namespace sesame::mpi {

storage::Client client_of(const Strand& strand);

// One request to the file system's metadata service; reaches the strand's time first.
void spend_metadata(Strand& strand, const storage::Place& place, storage::MetadataCall call);

}  // namespace sesame::mpi
