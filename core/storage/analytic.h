// The coarse level of detail: each I/O node serves one request at a time, in latency + bytes /
// bandwidth.
#pragma once

#include <memory>

#include "core/pdes/event_queue.h"
#include "core/storage/file_system.h"

namespace sesame::storage {

std::unique_ptr<FileSystem> make_analytic(const machine::StorageParameters& parameters,
                                          pdes::EventQueue& events);

}  // namespace sesame::storage
