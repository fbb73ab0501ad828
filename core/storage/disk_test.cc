#include "core/storage/disk.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "core/storage/service_models.h"
#include "core/storage/simple_disk.h"

namespace sesame::storage {
namespace {

using machine::DeviceParameters;

TEST(DiskDeathTest, ADiskWithoutSectorsOrRotationIsRefused) {
  DiskConstants constants;
  EXPECT_DEATH(make_mechanical_disk(constants, 1), "sectors");
  constants.geometry = {.sector_bytes = 512, .sectors_per_track = 100, .heads = 4, .cylinders = 10};
  EXPECT_DEATH(make_mechanical_disk(constants, 1), "sector_time");
}

SimTime ms(double value) { return SimTime::from_seconds(value * 1e-3); }

// 6000 rpm: a rotation in 10 ms, a sector in 0.1 ms.
DeviceParameters plain_disk() {
  DeviceParameters parameters;
  parameters.kind = machine::DeviceKind::kDisk;
  parameters.sectors_per_track = 100;
  parameters.heads = 4;
  parameters.cylinders = 1000;
  parameters.single_cylinder_seek = ms(2);
  parameters.full_seek = ms(20);
  parameters.rotations_per_minute = 6000;
  return parameters;
}

// Serves requests back to back or after a pause.
class Bench {
 public:
  explicit Bench(std::unique_ptr<ServiceModel> model) : model_(std::move(model)) {}

  SimTime serve(Direction direction, uint64_t address, uint64_t bytes) {
    const SimTime start = now;
    now = model_->serve(start, {direction, address, bytes, nullptr}, totals);
    return now - start;
  }
  SimTime read(uint64_t address, uint64_t bytes) { return serve(Direction::kRead, address, bytes); }
  SimTime write(uint64_t address, uint64_t bytes) {
    return serve(Direction::kWrite, address, bytes);
  }

  SimTime now = ms(1);
  DeviceStatistics totals;

 private:
  std::unique_ptr<ServiceModel> model_;
};

Bench plain_bench(const DeviceParameters& parameters, uint64_t seed = 1) {
  return Bench(make_simple_disk(parameters, seed));
}

double mean_over_pairs(const SeekCurve& curve, uint64_t cylinders) {
  double sum = 0;
  for (uint64_t a = 0; a < cylinders; ++a)
    for (uint64_t b = 0; b < cylinders; ++b)
      if (a != b) sum += curve.time(a < b ? b - a : a - b).seconds();
  return sum / static_cast<double>(cylinders * (cylinders - 1));
}

TEST(SeekCurve, PassesThroughTheTimesOfTheDataSheet) {
  DeviceParameters parameters = plain_disk();
  const SeekCurve two = seek_curve(parameters);
  EXPECT_EQ(two.time(0), SimTime::zero());
  EXPECT_EQ(two.time(1), ms(2));
  EXPECT_EQ(two.time(999), ms(20));
  EXPECT_NEAR(two.time(500).seconds(), 2e-3 + 18e-3 * std::sqrt(499.0 / 998.0), 1e-12);

  parameters.average_seek = ms(9);
  const SeekCurve three = seek_curve(parameters);
  EXPECT_EQ(three.time(1), ms(2));
  EXPECT_NEAR(three.time(999).seconds(), 20e-3, 1e-12);
  EXPECT_NEAR(mean_over_pairs(three, 1000), 9e-3, 1e-10);
}

TEST(SeekCurve, HasItsMeanOnSmallDisksToo) {
  for (const uint32_t cylinders : {10, 50, 200}) {
    DeviceParameters parameters = plain_disk();
    parameters.cylinders = cylinders;
    parameters.average_seek = ms(9);
    EXPECT_NEAR(mean_over_pairs(seek_curve(parameters), cylinders), 9e-3, 1e-6) << cylinders;
  }
}

// Even for a mean that no such curve can have, times are not shorter than the shortest seek.
TEST(SeekCurve, IsNeverShorterThanTheShortestSeek) {
  DeviceParameters parameters = plain_disk();
  parameters.average_seek = ms(2.1);
  const SeekCurve curve = seek_curve(parameters);
  for (uint64_t d = 1; d < 1000; ++d) EXPECT_GE(curve.time(d), ms(2));
}

TEST(SimpleDisk, TakesOverheadSeekRotationAndTransfer) {
  DeviceParameters parameters = plain_disk();
  parameters.controller_overhead = ms(0.5);
  const SeekCurve curve = seek_curve(parameters);
  Bench bench = plain_bench(parameters);
  bench.read(0, 512);
  const SimTime rotation_before = bench.totals.rotation_time;
  const SimTime took = bench.read(uint64_t{300} * 4 * 100 * 512, 20 * 512);
  const SimTime rotation = bench.totals.rotation_time - rotation_before;
  EXPECT_GE(rotation, SimTime::zero());
  EXPECT_LT(rotation, ms(10));
  EXPECT_EQ(took, ms(0.5) + curve.time(300) + rotation + ms(2));
  EXPECT_EQ(bench.totals.seek_time, curve.time(300));
}

// The platter turns with simulated time: a sector comes back after whole rotations only.
TEST(SimpleDisk, FindsASectorAtTheSameAngleAgain) {
  Bench bench = plain_bench(plain_disk());
  std::mt19937_64 random(7);
  SimTime first = SimTime::never();
  for (int i = 0; i < 100; ++i) {
    bench.read(random() % (uint64_t{1000} * 400) * 512, 512);
    bench.now += SimTime::from_ps(static_cast<int64_t>(random() % ms(10).ps()));
    bench.read(4321 * 512, 512);
    if (first == SimTime::never()) first = bench.now;
    EXPECT_EQ((bench.now - first).ps() % ms(10).ps(), 0);
  }
}

TEST(SimpleDisk, WaitsHalfARotationOnAverage) {
  Bench bench = plain_bench(plain_disk());
  std::mt19937_64 random(3);
  constexpr int kRequests = 20000;
  for (int i = 0; i < kRequests; ++i) {
    bench.now += SimTime::from_ps(static_cast<int64_t>(random() % ms(50).ps()));
    bench.read(random() % (uint64_t{1000} * 400) * 512, 512);
  }
  EXPECT_NEAR(bench.totals.rotation_time.seconds() / kRequests, 5e-3, 0.05e-3);
}

// Slightly more than three cylinders: no gap between tracks, a seek between cylinders.
TEST(SimpleDisk, StreamsAtTheMediaRate) {
  for (const Direction direction : {Direction::kRead, Direction::kWrite}) {
    Bench bench = plain_bench(plain_disk());
    bench.serve(direction, 0, 512);
    EXPECT_EQ(bench.serve(direction, 512, (3 * 400 + 30) * 512),
              ms(0.1) * (3 * 400 + 30) + ms(2) * 3);
    // The same in small requests, one right after the other.
    const SimTime begin = bench.now;
    for (uint64_t sector = 1231; sector < 2400; sector += 7)
      bench.serve(direction, sector * 512, 7 * 512);
    EXPECT_EQ(bench.now - begin, ms(0.1) * 1169 + ms(2) * 2);
  }
}

TEST(SimpleDisk, LosesARotationWhenTheNextSectorHasPassed) {
  DeviceParameters parameters = plain_disk();
  parameters.controller_overhead = ms(0.5);
  for (const Direction direction : {Direction::kRead, Direction::kWrite}) {
    Bench bench = plain_bench(parameters);
    bench.serve(direction, 0, 512);
    EXPECT_EQ(bench.serve(direction, 512, 512), ms(10) + ms(0.1));
  }
}

TEST(SimpleDisk, StreamsWritesThatItReportsAtOnce) {
  DeviceParameters parameters = plain_disk();
  parameters.controller_overhead = ms(0.5);
  parameters.buffer = 50 * 512;
  parameters.immediate_report = true;
  Bench bench = plain_bench(parameters);
  uint64_t sector = 0;
  const auto write_ten = [&] {
    sector += 10;
    return bench.write((sector - 10) * 512, 10 * 512);
  };
  EXPECT_EQ(write_ten(), ms(0.5));
  while (sector < 200) write_ten();
  EXPECT_EQ(write_ten(), ms(1));  // the buffer is full: as fast as the medium takes it
}

TEST(SimpleDisk, ServesReadAheadDataFromItsBuffer) {
  DeviceParameters parameters = plain_disk();
  parameters.controller_overhead = ms(0.5);
  parameters.buffer = 50 * 512;
  Bench bench = plain_bench(parameters);
  bench.read(0, 512);
  // The overhead is longer than the pass of three sectors, and they are there when it is over.
  EXPECT_EQ(bench.read(512, 3 * 512), ms(0.5));
  // Six sectors have passed by now; fourteen are still to come.
  EXPECT_EQ(bench.read(4 * 512, 16 * 512), ms(0.1) * (20 - 6));
  // After a long pause the whole buffer is full; then the head has stopped and must find its sector
  // again.
  bench.now += ms(100);
  EXPECT_EQ(bench.read(20 * 512, 50 * 512), ms(0.5));
  bench.now += ms(100);
  const SimTime took = bench.read(70 * 512, 60 * 512);
  EXPECT_GE(took, ms(0.5) + ms(1));
  EXPECT_LT(took, ms(0.5) + ms(1) + ms(10));
}

// A disk with all skews, to compare with a walk from sector to sector.
DiskConstants skewed() {
  DiskConstants disk;
  disk.geometry = {.sector_bytes = 512, .sectors_per_track = 30, .heads = 3, .cylinders = 50};
  disk.seek = {.constant = 3e9, .linear = 1e7};
  disk.head_switch = ms(1.5);
  disk.sector_time = ms(0.5);
  disk.track_skew = ms(2);
  disk.cylinder_skew = ms(3.5);
  disk.buffer = 64 * 512;
  return disk;
}

SimTime walk(const DiskConstants& disk, uint64_t begin, uint64_t end) {
  SimTime sum;
  for (uint64_t sector = begin; sector < end; ++sector) {
    sum += disk.sector_time;
    const bool track_ends = (sector + 1) % disk.geometry.sectors_per_track == 0;
    const bool cylinder_ends = (sector + 1) % disk.geometry.sectors_per_cylinder() == 0;
    if (sector + 1 == end) continue;
    if (cylinder_ends)
      sum += disk.cylinder_skew;
    else if (track_ends)
      sum += disk.track_skew;
  }
  return sum;
}

TEST(MechanicalDisk, ReadsOverSkewsAsAWalkFromSectorToSectorDoes) {
  const DiskConstants disk = skewed();
  std::mt19937_64 random(5);
  for (int i = 0; i < 500; ++i) {
    Bench bench(make_mechanical_disk(disk, random()));
    const uint64_t begin = random() % 4000, end = begin + 1 + random() % 400;
    const SimTime took = bench.read(begin * 512, (end - begin) * 512);
    EXPECT_EQ(took - bench.totals.seek_time - bench.totals.rotation_time, walk(disk, begin, end));
    EXPECT_EQ(bench.totals.transfer_time, walk(disk, begin, end));
  }
}

TEST(MechanicalDisk, SwitchesHeadsWithinACylinder) {
  Bench bench(make_mechanical_disk(skewed(), 1));
  bench.read(0, 512);
  bench.read(70 * 512, 512);  // the third track; too far for the buffer
  EXPECT_EQ(bench.totals.seek_time, ms(1.5));
}

TEST(MechanicalDisk, StartsAtAnotherAngleWithAnotherSeed) {
  std::set<SimTime> waits;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Bench bench(make_mechanical_disk(skewed(), seed));
    bench.read(0, 512);
    EXPECT_LT(bench.totals.rotation_time, ms(15));
    waits.insert(bench.totals.rotation_time);
  }
  EXPECT_GT(waits.size(), 15u);
}

TEST(MechanicalDisk, KeepsReadingAheadWhenAnOldBlockIsReadAgain) {
  Bench bench(make_mechanical_disk(skewed(), 1));
  bench.read(0, 10 * 512);
  bench.now += ms(1000);
  EXPECT_EQ(bench.read(40 * 512, 512), SimTime::zero());  // continues to read, up to sector 105
  bench.now += ms(1000);
  EXPECT_EQ(bench.read(45 * 512, 512), SimTime::zero());
  EXPECT_EQ(bench.read(100 * 512, 5 * 512), SimTime::zero());
}

TEST(MechanicalDisk, ForgetsItsBufferWhenItWrites) {
  Bench bench(make_mechanical_disk(skewed(), 1));
  bench.read(0, 512);
  bench.write(20 * 512, 512);
  const SimTime rotation = bench.totals.rotation_time;
  EXPECT_GE(bench.read(0, 512), ms(0.5));
  EXPECT_GT(bench.totals.rotation_time, rotation);
}

// After any pause the next block is there if the walk has come so far, otherwise when it has.
TEST(MechanicalDisk, ReadsAheadAsAWalkFromSectorToSectorDoes) {
  const DiskConstants disk = skewed();
  std::mt19937_64 random(6);
  int were_there = 0, were_not = 0;
  for (int i = 0; i < 500; ++i) {
    Bench bench(make_mechanical_disk(disk, random()));
    const uint64_t begin = random() % 4000;
    bench.read(begin * 512, 512);
    const SimTime first_passes = bench.now - disk.sector_time;
    uint64_t sector = begin + 1;
    while (sector < begin + 150) {
      const uint64_t next = sector + 1 + random() % 8;
      bench.now += SimTime::from_ps(static_cast<int64_t>(random() % ms(4).ps()));
      const SimTime asked = bench.now;
      bench.read(sector * 512, (next - sector) * 512);
      const SimTime passed = first_passes + walk(disk, begin, next);
      EXPECT_EQ(bench.now, later(asked, passed));
      ++(asked < passed ? were_not : were_there);
      sector = next;
    }
  }
  EXPECT_GT(were_there, 100);
  EXPECT_GT(were_not, 100);
}

}  // namespace
}  // namespace sesame::storage
