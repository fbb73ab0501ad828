// The simple disk: seek times, rotation and track length of the machine file, and nothing else. A
// head switch takes no time. A transfer that continues in the next cylinder waits for the arm and
// no longer.
#include "core/storage/simple_disk.h"

#include <algorithm>
#include <cmath>

#include "core/storage/service_models.h"

namespace sesame::storage {

namespace {

// The mean of sqrt(d - 1), where d is the distance of two different random cylinders of n. Its
// probability is 2 (n - d) / (n (n - 1)), so the mean needs the sum of (m - x) sqrt(x) for x below
// m = n - 1. Modern disks have too many cylinders for a plain sum: this is the Euler-Maclaurin
// formula.
double mean_root_of_distance(double n) {
  constexpr double kZetaMinusHalf = -0.20788622497735457;  // Riemann's zeta function
  constexpr double kZetaMinusThreeHalves = -0.025485201889833;
  const double m = n - 1;
  const double sum =
      4.0 / 15 * std::pow(m, 2.5) + kZetaMinusHalf * m - std::sqrt(m) / 12 - kZetaMinusThreeHalves;
  return 2 * sum / (n * m);
}

}  // namespace

// t(d) = single + root * sqrt(d - 1) + linear * (d - 1): the form of Lee and Katz, "An analytic
// performance model of disk arrays", SIGMETRICS 1993 (from memory of the article). Root and linear
// come from two equations: the full stroke, d = cylinders - 1, and the mean over random pairs.
SeekCurve seek_curve(const machine::DeviceParameters& parameters) {
  const double single = static_cast<double>(parameters.single_cylinder_seek.ps());
  const double full = static_cast<double>(parameters.full_seek.ps()) - single;
  const double farthest = std::max(static_cast<double>(parameters.cylinders) - 2, 1.0);
  if (parameters.average_seek == SimTime::zero() || parameters.cylinders < 3)
    return {.constant = single, .root = full / std::sqrt(farthest), .origin = 1};

  const double mean_root = mean_root_of_distance(parameters.cylinders);
  const double mean_linear = (parameters.cylinders - 2.0) / 3;
  const double average = static_cast<double>(parameters.average_seek.ps()) - single;
  const double determinant = mean_root * farthest - mean_linear * std::sqrt(farthest);
  return {.constant = single,
          .root = (average * farthest - full * mean_linear) / determinant,
          .linear = (full * mean_root - average * std::sqrt(farthest)) / determinant,
          .origin = 1};
}

std::unique_ptr<ServiceModel> make_simple_disk(const machine::DeviceParameters& parameters,
                                               uint64_t seed) {
  DiskConstants disk;
  disk.geometry = {.sector_bytes = parameters.sector,
                   .sectors_per_track = parameters.sectors_per_track,
                   .heads = parameters.heads,
                   .cylinders = parameters.cylinders};
  disk.seek = seek_curve(parameters);
  disk.sector_time = SimTime::from_seconds(60 / parameters.rotations_per_minute /
                                           static_cast<double>(parameters.sectors_per_track));
  disk.cylinder_skew = parameters.cylinders > 1 ? disk.seek.time(1) : SimTime::zero();
  disk.read_overhead = parameters.controller_overhead;
  disk.write_overhead = parameters.controller_overhead;
  disk.buffer = parameters.buffer;
  disk.immediate_report = parameters.immediate_report;
  return make_mechanical_disk(disk, seed);
}

}  // namespace sesame::storage
