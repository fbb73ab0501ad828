// The fine level of detail: each request travels from the compute node over the network to I/O
// nodes, to their devices and back, with the caches on the way. docs/models/storage.md has the
// equations.
//
// `network`, `events` and `traffic` must outlive the file system; `seed` selects the initial angle
// of disks. `traffic`: what messages share with those of ranks (links.h).
#pragma once

#include <memory>

#include "core/network/network.h"
#include "core/network/traffic.h"
#include "core/pdes/event_queue.h"
#include "core/storage/file_system.h"

namespace sesame::storage {

std::unique_ptr<FileSystem> make_full(const machine::StorageParameters& parameters,
                                      const network::Network& network, pdes::EventQueue& events,
                                      uint64_t seed, network::Traffic* traffic);

}  // namespace sesame::storage
