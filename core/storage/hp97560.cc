// Sources of the constants:
//   RW   Ruemmler and Wilkes, "An introduction to disk drive modeling", IEEE Computer 27(3), 1994,
//        as the parallel I/O simulator Hecios quotes the article (hard_disk.h, HP97560Disk);
//   TRM  HP 97556/58/60 SCSI technical reference manual 5960-0115, as the drive list TheRef quotes
//        it (HP 97560 P).
#include "core/storage/hp97560.h"

#include "core/storage/service_models.h"

namespace sesame::storage {

DiskConstants hp97560() {
  constexpr double kMs = 1e9;                   // picoseconds
  constexpr double kRotationsPerMinute = 4002;  // RW, TRM
  constexpr int64_t kTrackSkew = 8;             // sectors; RW
  constexpr int64_t kCylinderSkew = 18;         // sectors; RW
  DiskConstants disk;
  disk.geometry = {.sector_bytes = 512,      // RW, TRM
                   .sectors_per_track = 72,  // RW, TRM
                   .heads = 19,              // RW, TRM
                   .cylinders = 1962};       // RW; TRM: 1952 of them for data
  disk.seek = {.constant = 3.24 * kMs,       // RW, as all of the curve
               .root = 0.400 * kMs,
               .near = 383,
               .far_constant = 8.00 * kMs,
               .far_linear = 0.008 * kMs};
  disk.head_switch = SimTime::from_ns(1'600'000);  // RW
  disk.sector_time = SimTime::from_seconds(60 / kRotationsPerMinute / 72);
  disk.track_skew = disk.sector_time * kTrackSkew;
  disk.cylinder_skew = disk.sector_time * kCylinderSkew;
  disk.read_overhead = SimTime::from_ns(2'200'000);   // RW
  disk.write_overhead = SimTime::from_ns(2'200'000);  // RW
  disk.bus_bandwidth = 10e6;                          // TRM: synchronous SCSI-2
  disk.read_fence = 64 << 10;                         // RW
  disk.buffer = 128 << 10;                            // RW, TRM
  // RW: the drive has it. That their evaluation had it on is from memory of the article.
  disk.immediate_report = true;
  return disk;
}

std::unique_ptr<ServiceModel> make_hp97560(uint64_t seed) {
  return make_mechanical_disk(hp97560(), seed);
}

}  // namespace sesame::storage
