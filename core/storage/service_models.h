// The service models of single devices, one .cc file each. docs/models/devices.md has their
// equations. Seeds select the initial angle of a disk.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>

#include "core/base/units.h"
#include "core/machine/storage.h"
#include "core/storage/device.h"

namespace sesame::storage {

std::unique_ptr<ServiceModel> make_fixed(const machine::DeviceParameters& parameters);
std::unique_ptr<ServiceModel> make_simple_disk(const machine::DeviceParameters& parameters,
                                               uint64_t seed);
std::unique_ptr<ServiceModel> make_hp97560(uint64_t seed);
std::unique_ptr<ServiceModel> make_solid_state(const machine::DeviceParameters& parameters);

// Picoseconds per byte; a bandwidth of zero means that the transfer takes no time.
inline double ps_per_byte(double bandwidth) { return bandwidth > 0 ? 1e12 / bandwidth : 0; }
inline SimTime transfer_time(uint64_t bytes, double ps_per_byte) {
  return SimTime::from_ps(std::llround(static_cast<double>(bytes) * ps_per_byte));
}

}  // namespace sesame::storage
