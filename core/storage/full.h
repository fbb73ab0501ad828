// The fine level of detail: compute node, network, I/O node, device and back, with the caches on
// the way. docs/models/storage.md has the equations.
#pragma once

#include <memory>

#include "core/network/network.h"
#include "core/pdes/event_queue.h"
#include "core/storage/file_system.h"

namespace sesame::storage {

std::unique_ptr<FileSystem> make_full(const machine::StorageParameters& parameters,
                                      const network::Network& network, pdes::EventQueue& events,
                                      uint64_t seed);

}  // namespace sesame::storage
