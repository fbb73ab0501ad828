// Makes the device that a machine file asks for: a queue in front of a service model, or an array
// of those, one for each member; either may have a limit on its rate.
#pragma once

#include <cstdint>
#include <memory>

#include "core/machine/storage.h"
#include "core/pdes/event_queue.h"
#include "core/storage/device.h"

namespace sesame::storage {

std::unique_ptr<Device> make_device(const machine::DeviceParameters& parameters,
                                    pdes::EventQueue& events, uint64_t seed);

// The model of the device's kind; of one member where there is an array. The seed says where the
// medium of a disk stands at time zero.
std::unique_ptr<ServiceModel> make_service_model(const machine::DeviceParameters& parameters,
                                                 uint64_t seed);

}  // namespace sesame::storage
