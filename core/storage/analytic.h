// The coarse level of detail: one formula. Each I/O node serves one request at a time, in latency +
// bytes / bandwidth. There are no caches, no messages and no devices; flush() takes no time.
//
// `events` must outlive the file system.
#pragma once

#include <memory>

#include "core/pdes/event_queue.h"
#include "core/storage/file_system.h"

namespace sesame::storage {

std::unique_ptr<FileSystem> make_analytic(const machine::StorageParameters& parameters,
                                          pdes::EventQueue& events);

}  // namespace sesame::storage
