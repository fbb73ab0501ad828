// Makes the model that the machine file selects: the full one with compute nodes' caches, network,
// and I/O nodes with their caches and devices (full.h), or one formula (analytic.h).
#pragma once

#include <memory>

#include "core/network/network.h"
#include "core/network/traffic.h"
#include "core/pdes/event_queue.h"
#include "core/storage/file_system.h"

namespace sesame::storage {

// REQUIRES: the parameters have been checked (machine/storage_table.h). `network`, `events` and
// `traffic` must outlive the file system. `seed` selects the initial angle of disks. `traffic`:
// what messages between compute nodes and I/O nodes share with those of ranks; null: nothing.
std::unique_ptr<FileSystem> make_file_system(const machine::StorageParameters& parameters,
                                             const network::Network& network,
                                             pdes::EventQueue& events, uint64_t seed,
                                             network::Traffic* traffic = nullptr);

}  // namespace sesame::storage
