// Compares the model of the HP 97560 with closed forms. With --gtest_output=xml the tests record
// the figures that docs/models/devices.md shows as properties.
#include "core/storage/hp97560.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace sesame::storage {
namespace {

constexpr double kMs = 1e-3;
constexpr double kRotation = 60.0 / 4002;
constexpr double kSector = kRotation / 72;
constexpr double kOverhead = 2.2 * kMs;
constexpr double kBlock = 8192;
constexpr double kBus = kBlock / 10e6;
constexpr uint64_t kSectors = uint64_t{1962} * 19 * 72;

double published_seek(double cylinders) {
  if (cylinders == 0) return 0;
  return cylinders <= 383 ? (3.24 + 0.400 * std::sqrt(cylinders)) * kMs
                          : (8.00 + 0.008 * cylinders) * kMs;
}

// Over random pairs of cylinders, equal ones included.
double mean_seek() {
  constexpr int kCylinders = 1962;
  double sum = 0;
  for (int d = 1; d < kCylinders; ++d) sum += 2.0 * (kCylinders - d) * published_seek(d);
  return sum / (double{kCylinders} * kCylinders);
}

void show(const char* what, double seconds) {
  ::testing::Test::RecordProperty(what, std::to_string(seconds / kMs) + " ms");
}

struct Drive {
  explicit Drive(const DiskConstants& constants = hp97560())
      : model(make_mechanical_disk(constants, 11)) {}
  double serve(Direction direction, uint64_t address, uint64_t bytes = 8192) {
    const SimTime start = now;
    now = model->serve(start, {direction, address, bytes, nullptr}, totals);
    return (now - start).seconds();
  }
  std::unique_ptr<ServiceModel> model;
  SimTime now;
  DeviceStatistics totals;
};

TEST(Hp97560, SeeksAsPublished) {
  const DiskConstants disk = hp97560();
  for (const uint64_t distance : {0, 1, 10, 100, 383, 384, 1000, 1961})
    EXPECT_NEAR(disk.seek.time(distance).seconds(), published_seek(static_cast<double>(distance)),
                1e-12);
  EXPECT_LE(disk.head_switch, disk.track_skew);
  EXPECT_LE(disk.seek.time(1), disk.cylinder_skew);
}

// Overhead, mean seek, half a rotation, 16 sectors, the skews that a block crosses on average, and
// the bus.
TEST(Hp97560, ReadsRandomBlocksInTheMeanTimeOfTheClosedForm) {
  const double crossings = 15.0 / 72;
  const double skew = (18 * 8 + 18) / 19.0 * kSector;
  const double expected =
      kOverhead + mean_seek() + kRotation / 2 + 16 * kSector + crossings * skew + kBus;

  Drive drive;
  std::mt19937_64 random(17);
  constexpr int kRequests = 50000;
  double sum = 0;
  for (int i = 0; i < kRequests; ++i) {
    drive.now += SimTime::from_ps(static_cast<int64_t>(random() % 50'000'000'000));
    sum += drive.serve(Direction::kRead, random() % (kSectors - 16) * 512);
  }
  const double mean = sum / kRequests;
  show("mean_seek", mean_seek());
  show("random_closed_form", expected);
  show("random_simulated", mean);
  EXPECT_NEAR(mean, expected, 0.005 * expected);
}

// The demerit figure of Ruemmler and Wilkes: the root mean square of the horizontal distance
// between two distributions of service times, as a part of the mean of the second.
double demerit(std::vector<double> model, std::vector<double> real) {
  std::ranges::sort(model);
  std::ranges::sort(real);
  double squares = 0, sum = 0;
  for (size_t i = 0; i < real.size(); ++i) {
    squares += (model[i] - real[i]) * (model[i] - real[i]);
    sum += real[i];
  }
  const auto count = static_cast<double>(real.size());
  return std::sqrt(squares / count) / (sum / count);
}

// One random read, from the published constants alone: nothing of the model is used.
double published_read(std::mt19937_64& random) {
  const auto cylinder = [&] { return static_cast<double>(random() % 1962); };
  const double seek = published_seek(std::abs(cylinder() - cylinder()));
  const double rotation = std::uniform_real_distribution<double>(0, kRotation)(random);
  double skew = 0;
  const uint64_t sector = random() % (19 * 72);
  if (sector % 72 + 16 > 72) skew = (sector / 72 == 18 ? 18 : 8) * kSector;
  return kOverhead + seek + rotation + 16 * kSector + skew + kBus;
}

TEST(Hp97560, ServiceTimesAreDistributedAsThePublishedConstantsSay) {
  constexpr int kRequests = 50000;
  Drive drive;
  std::mt19937_64 requests(17), published(18);
  std::vector<double> model, expected, constant;
  for (int i = 0; i < kRequests; ++i) {
    drive.now += SimTime::from_ps(static_cast<int64_t>(requests() % 50'000'000'000));
    model.push_back(drive.serve(Direction::kRead, requests() % (kSectors - 16) * 512));
    expected.push_back(published_read(published));
    constant.push_back(27.05 * kMs);
  }
  const double figure = demerit(model, expected);
  const double of_the_mean = demerit(constant, expected);
  RecordProperty("demerit_percent", std::to_string(100 * figure));
  RecordProperty("demerit_of_the_mean_percent", std::to_string(100 * of_the_mean));
  EXPECT_LT(figure, 0.01);
  EXPECT_GT(of_the_mean, 0.1) << "the figure must distinguish models";
}

// The drive reads ahead, so that the medium is the limit: 72 sectors a rotation less the skews.
TEST(Hp97560, ReadsSequentialBlocksAtTheRateOfTheMedium) {
  constexpr uint64_t kCylinderSectors = 19 * 72;
  const double per_cylinder = (kCylinderSectors + 18 * 8 + 18) * kSector;
  const double expected = kBlock / (kCylinderSectors * 512) * per_cylinder;
  Drive drive;
  drive.serve(Direction::kRead, 0);
  const SimTime begin = drive.now;
  constexpr uint64_t kRequests = 20 * kCylinderSectors / 16;
  for (uint64_t i = 1; i <= kRequests; ++i) drive.serve(Direction::kRead, i * 8192);
  const double mean = (drive.now - begin).seconds() / kRequests;
  show("sequential_closed_form", expected);
  show("sequential_simulated", mean);
  EXPECT_NEAR(mean, expected, 0.002 * expected);
}

TEST(Hp97560, GivesABlockFromItsBufferInOverheadAndBusTime) {
  Drive drive;
  drive.serve(Direction::kRead, 8192 * 1000);
  EXPECT_NEAR(drive.serve(Direction::kRead, 8192 * 1000), kOverhead + kBus, 1e-12);
  drive.now += SimTime::from_ns(100'000'000);
  EXPECT_NEAR(drive.serve(Direction::kRead, 8192 * 1001), kOverhead + kBus, 1e-12);
  // 128 KiB ahead and no farther.
  EXPECT_NEAR(drive.serve(Direction::kRead, 8192 * 1002, 120 << 10), kOverhead + 120 * 1024 / 10e6,
              1e-12);
}

TEST(Hp97560, ReportsAWriteWhenItIsInTheBuffer) {
  Drive drive;
  EXPECT_NEAR(drive.serve(Direction::kWrite, 8192 * 5000), kOverhead + kBus, 1e-12);
  // The next write is elsewhere and must wait until the arm is free.
  const double second = drive.serve(Direction::kWrite, 8192 * 90000);
  EXPECT_GT(second, kBus + published_seek(0) + 16 * kSector);
  EXPECT_LT(second, kOverhead + kBus + published_seek(1961) + kRotation + 16 * kSector);

  DiskConstants off = hp97560();
  off.immediate_report = false;
  Drive plain(off);
  EXPECT_GT(plain.serve(Direction::kWrite, 8192 * 5000), kOverhead + 16 * kSector);
}

TEST(Hp97560, WritesSequentialBlocksAtTheRateOfTheMedium) {
  constexpr uint64_t kCylinderSectors = 19 * 72;
  const double per_cylinder = (kCylinderSectors + 18 * 8 + 18) * kSector;
  const double expected = kBlock / (kCylinderSectors * 512) * per_cylinder;
  Drive drive;
  // Sixteen blocks fill the buffer; after them the medium is the limit.
  uint64_t block = 0;
  while (block < 100) drive.serve(Direction::kWrite, block++ * 8192);
  const SimTime begin = drive.now;
  constexpr uint64_t kRequests = 20 * kCylinderSectors / 16;
  for (uint64_t i = 0; i < kRequests; ++i) drive.serve(Direction::kWrite, block++ * 8192);
  EXPECT_NEAR((drive.now - begin).seconds() / kRequests, expected, 0.002 * expected);
}

TEST(Hp97560, ReadsWhatItWroteOnlyWhenTheArmIsFree) {
  Drive drive;
  drive.serve(Direction::kWrite, 8192 * 5000);
  EXPECT_GT(drive.serve(Direction::kRead, 8192 * 90000), published_seek(384) + 16 * kSector);
}

}  // namespace
}  // namespace sesame::storage
