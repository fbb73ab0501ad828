// The service model of a mechanical disk: seek curve, rotation, track and cylinder skew, and a
// buffer that reads ahead and may accept writes before they are on the medium. The angle of the
// platters follows from simulated time. The simple disk (simple_disk.h) and the HP 97560
// (hp97560.h) are this model with different constants.
//
// Use: fill in DiskConstants, make the model, and give it to make_queued_device(), or call serve()
// in the order of time (device.h). make_device() does so for the device of a machine file. Requests
// cannot fail: addresses beyond the last sector continue at the first. Time to cross from a track
// to the next during a transfer counts as transfer time, not as seek or rotation. One thread.
#pragma once

#include <cstdint>
#include <memory>

#include "core/base/units.h"
#include "core/storage/device.h"

namespace sesame::storage {

// Set at least sectors_per_track, cylinders and DiskConstants::sector_time.
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
  SimTime sector_time;  // time for one sector to pass under the head
  // By how much the first sector of a track is rotated against the end of the previous track,
  // within a cylinder and at the first track of the next one. At least the time of the head switch
  // or seek.
  SimTime track_skew;
  SimTime cylinder_skew;
  SimTime read_overhead;
  SimTime write_overhead;
  double bus_bandwidth = 0;  // bytes per second; 0: the bus takes no time
  uint64_t read_fence = 0;   // bytes that must be in the buffer before a read starts on the bus
  uint64_t buffer = 0;       // bytes; 0: no read-ahead
  bool immediate_report = false;  // a write is complete when it is in the buffer
};

// The seed selects the angle of the platters at time zero. REQUIRES: the geometry and the sector
// time are not zero.
std::unique_ptr<ServiceModel> make_mechanical_disk(const DiskConstants& constants, uint64_t seed);

}  // namespace sesame::storage
