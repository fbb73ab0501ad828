// Disk arrays. In RAID 0 (striping) and RAID 5 (striping with rotating, left-symmetric parity) one
// request becomes operations on the members, each of which has its own queue and service model. In
// RAID 3 all members serve every request in lockstep.
#pragma once

#include <memory>
#include <vector>

#include "core/machine/storage.h"
#include "core/storage/device.h"

namespace sesame::storage {

// RAID 0 or 5 over these members. A RAID 5 write first reads the old data and parity of the stripes
// that it covers only in part (read-modify-write), then writes data and parity.
std::unique_ptr<Device> make_array(const machine::DeviceParameters& parameters,
                                   std::vector<std::unique_ptr<Device>> members);

// RAID 3: members are in lockstep, so one model stands for all. `members` counts the parity disk.
std::unique_ptr<ServiceModel> make_in_step(int members, std::unique_ptr<ServiceModel> one);

}  // namespace sesame::storage
