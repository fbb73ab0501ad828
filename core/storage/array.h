// Disk arrays: one request becomes operations on the members, each of which has a queue and a
// service model of its own. RAID 0 stripes; RAID 5 stripes with rotating parity (left-symmetric);
// in RAID 3 every request goes to all members, which move in step.
#pragma once

#include <memory>
#include <vector>

#include "core/machine/storage.h"
#include "core/storage/device.h"

namespace sesame::storage {

// RAID 0 and 5 over these members.
std::unique_ptr<Device> make_array(const machine::DeviceParameters& parameters,
                                   std::vector<std::unique_ptr<Device>> members);

// RAID 3: since the members are in step, one of them stands for all.
std::unique_ptr<ServiceModel> make_in_step(int members, std::unique_ptr<ServiceModel> one);

}  // namespace sesame::storage
