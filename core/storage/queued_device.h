// A queue in front of a service model: the Device of a single disk.
#pragma once

#include <memory>

#include "core/machine/storage.h"
#include "core/pdes/event_queue.h"
#include "core/storage/device.h"

namespace sesame::storage {

// Serves as many requests at a time as the model can, the others in the order of the discipline.
std::unique_ptr<Device> make_queued_device(std::unique_ptr<ServiceModel> model,
                                           machine::QueueDiscipline discipline,
                                           pdes::EventQueue& events);

}  // namespace sesame::storage
