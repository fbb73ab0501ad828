// A Device that is a queue in front of one service model: a single disk.
#pragma once

#include <memory>

#include "core/machine/storage.h"
#include "core/pdes/event_queue.h"
#include "core/storage/device.h"

namespace sesame::storage {

// Serves up to model->concurrency() requests at a time; the others wait, in the order of the
// discipline. `events` must outlive the device.
std::unique_ptr<Device> make_queued_device(std::unique_ptr<ServiceModel> model,
                                           machine::QueueDiscipline discipline,
                                           pdes::EventQueue& events);

}  // namespace sesame::storage
