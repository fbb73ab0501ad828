// Makes the model that a machine file asks for: compute nodes' caches, network, I/O nodes with
// their caches and devices (full.h), or one formula (analytic.h).
#pragma once

#include <memory>

#include "core/network/network.h"
#include "core/pdes/event_queue.h"
#include "core/storage/file_system.h"

namespace sesame::storage {

// The parameters have been checked (machine/storage_table.h). Network and events live longer.
std::unique_ptr<FileSystem> make_file_system(const machine::StorageParameters& parameters,
                                             const network::Network& network,
                                             pdes::EventQueue& events, uint64_t seed);

}  // namespace sesame::storage
