// Makes the device that the machine file describes: a queue in front of a service model, or an
// array of such devices; either may have a rate limit. `events` must outlive the device.
#pragma once

#include <cstdint>
#include <memory>

#include "core/machine/storage.h"
#include "core/pdes/event_queue.h"
#include "core/storage/device.h"

namespace sesame::storage {

std::unique_ptr<Device> make_device(const machine::DeviceParameters& parameters,
                                    pdes::EventQueue& events, uint64_t seed);

// The service model of the device; of an array, that of one member. The seed selects the angle of a
// disk's platters at time zero.
std::unique_ptr<ServiceModel> make_service_model(const machine::DeviceParameters& parameters,
                                                 uint64_t seed);

}  // namespace sesame::storage
