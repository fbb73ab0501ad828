// A disk with its mechanics: seek curve, rotation that simulated time drives, track and cylinder
// skew, a buffer that reads ahead and may take writes before they are on the medium. Simple disks
// and the HP 97560 are this with their constants.
#pragma once

#include <cstdint>
#include <memory>

#include "core/base/units.h"
#include "core/storage/device.h"

namespace sesame::storage {

struct DiskGeometry {
  uint64_t sector_bytes = 512;
  uint64_t sectors_per_track = 0;
  uint64_t heads = 1;
  uint64_t cylinders = 0;

  uint64_t sectors_per_cylinder() const { return sectors_per_track * heads; }
  uint64_t sectors() const { return sectors_per_cylinder() * cylinders; }
};

// The time to move the arm by d > 0 cylinders, in picoseconds:
//   constant + root * sqrt(d - origin) + linear * (d - origin)   as long as d <= near,
//   far_constant + far_linear * d                                beyond,
// but never less than the constant.
struct SeekCurve {
  double constant = 0;
  double root = 0;
  double linear = 0;
  uint64_t origin = 0;
  uint64_t near = UINT64_MAX;
  double far_constant = 0;
  double far_linear = 0;

  SimTime time(uint64_t distance) const;
};

struct DiskConstants {
  DiskGeometry geometry;
  SeekCurve seek;
  SimTime head_switch;
  SimTime sector_time;  // of one sector under the head
  // How much later, in the order of rotation, the first sector of a track begins than where the
  // track before ended; of the first track of a cylinder. At least the time of the switch.
  SimTime track_skew;
  SimTime cylinder_skew;
  SimTime read_overhead;
  SimTime write_overhead;
  double bus_bandwidth = 0;       // 0: at no cost
  uint64_t read_fence = 0;        // bytes in the buffer before a read begins on the bus
  uint64_t buffer = 0;            // 0: nothing is read ahead
  bool immediate_report = false;  // a write is done when it is in the buffer
};

// The seed says which sector is under the head at time zero.
std::unique_ptr<ServiceModel> make_mechanical_disk(const DiskConstants& constants, uint64_t seed);

}  // namespace sesame::storage
