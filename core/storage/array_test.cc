#include "core/storage/array.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <tuple>

#include "core/storage/make_device.h"

namespace sesame::storage {
namespace {

using machine::DeviceParameters;
using machine::RaidLevel;

constexpr uint64_t kUnit = 64 << 10;

// A latency of 1 ms and 1 MB/s: round times.
DeviceParameters array_of(RaidLevel level, int members) {
  DeviceParameters parameters;
  parameters.raid = level;
  parameters.members = members;
  parameters.raid_unit = kUnit;
  parameters.read_latency = parameters.write_latency = SimTime::from_ns(1'000'000);
  parameters.read_bandwidth = parameters.write_bandwidth = 1e6;
  return parameters;
}

SimTime one(uint64_t bytes) {
  return SimTime::from_ns(1'000'000 + static_cast<int64_t>(bytes) * 1000);
}

struct RecordedCompletion : Completion {
  void done(SimTime when) override {
    at = when;
    ++times;
  }
  SimTime at;
  int times = 0;
};

struct TestArray {
  explicit TestArray(const DeviceParameters& parameters)
      : device(make_device(parameters, events, 1)) {}
  SimTime serve(Direction direction, uint64_t address, uint64_t bytes) {
    RecordedCompletion completion;
    const SimTime start = now;
    device->submit(now, {direction, address, bytes, &completion});
    while (!events.empty()) events.take_earliest().fire();
    EXPECT_EQ(completion.times, 1);
    now = completion.at;
    return now - start;
  }
  pdes::EventQueue events;
  std::unique_ptr<Device> device;
  SimTime now;
};

TEST(Raid0, SpreadsARequestOverItsMembers) {
  TestArray run(array_of(RaidLevel::k0, 4));
  EXPECT_EQ(run.serve(Direction::kRead, 0, 4 * kUnit), one(kUnit));
  EXPECT_EQ(run.device->statistics().operations, 4u);
  // Ten rows: the units of one member are adjacent and become one operation.
  EXPECT_EQ(run.serve(Direction::kWrite, 0, 40 * kUnit), one(10 * kUnit));
  EXPECT_EQ(run.device->statistics().operations, 8u);
  EXPECT_EQ(run.serve(Direction::kRead, kUnit - 100, 300), one(200));
  EXPECT_EQ(run.device->statistics().reads, 2u);
  EXPECT_EQ(run.device->statistics().writes, 1u);
  EXPECT_EQ(run.device->statistics().busy, one(kUnit) + one(10 * kUnit) + one(200));
}

TEST(Raid0, MembersServeDifferentRequestsAtTheSameTime) {
  TestArray run(array_of(RaidLevel::k0, 4));
  RecordedCompletion requests[5];
  for (uint64_t i = 0; i < 5; ++i)
    run.device->submit(SimTime::zero(), {Direction::kRead, i * kUnit, 1000, &requests[i]});
  while (!run.events.empty()) run.events.take_earliest().fire();
  for (int i = 0; i < 4; ++i) EXPECT_EQ(requests[i].at, one(1000));
  EXPECT_EQ(requests[4].at, one(1000) * 2);
  EXPECT_EQ(run.device->statistics().longest_queue, 1u);
  EXPECT_EQ(run.device->statistics().queued, one(1000));
}

TEST(Raid5, ASmallWriteIsFourOperations) {
  TestArray run(array_of(RaidLevel::k5, 5));
  EXPECT_EQ(run.serve(Direction::kWrite, 3 * kUnit + 5000, 4096), one(4096) * 2);
  EXPECT_EQ(run.device->statistics().operations, 4u);
  EXPECT_EQ(run.device->statistics().writes, 1u);
  EXPECT_EQ(run.device->statistics().bytes_written, 4096u);
}

TEST(Raid5, AFullStripeIsWrittenWithoutReading) {
  TestArray run(array_of(RaidLevel::k5, 5));
  EXPECT_EQ(run.serve(Direction::kWrite, 8 * kUnit, 4 * kUnit), one(kUnit));
  EXPECT_EQ(run.device->statistics().operations, 5u);
  // A full stripe and a part of the next: reads for the partial stripe only, then all writes. On
  // the member with its data, and on that with its parity, two units are adjacent.
  TestArray mixed(array_of(RaidLevel::k5, 5));
  EXPECT_EQ(mixed.serve(Direction::kWrite, 0, 4 * kUnit + 4096), one(4096) + one(kUnit + 4096));
  EXPECT_EQ(mixed.device->statistics().operations, 2u + 5u);
}

TEST(Raid5, ReadsDataOnly) {
  TestArray run(array_of(RaidLevel::k5, 5));
  EXPECT_EQ(run.serve(Direction::kRead, 0, 4 * kUnit), one(kUnit));
  EXPECT_EQ(run.device->statistics().operations, 4u);
  // Left-symmetric: as many consecutive units as members are on different members.
  EXPECT_EQ(run.serve(Direction::kRead, 0, 5 * kUnit), one(kUnit));
}

// A member that only records its requests.
struct RecordingDevice : Device {
  void submit(SimTime, const DeviceRequest& request) override { requests.push_back(request); }
  const DeviceStatistics& statistics() const override { return totals; }
  std::vector<DeviceRequest> requests;
  DeviceStatistics totals;
};

TEST(Raid5, UnitsHaveDistinctAddressesAndParityRotates) {
  constexpr int kMembers = 5;
  std::vector<std::unique_ptr<Device>> members;
  std::vector<RecordingDevice*> recorders;
  for (int i = 0; i < kMembers; ++i) {
    members.push_back(std::make_unique<RecordingDevice>());
    recorders.push_back(static_cast<RecordingDevice*>(members.back().get()));
  }
  const auto array = make_array(array_of(RaidLevel::k5, kMembers), std::move(members));
  RecordedCompletion completion;
  std::map<std::pair<int, uint64_t>, int> uses;
  std::map<int, int> units_of_member;
  constexpr uint64_t kUnits = 4 * 10;
  for (uint64_t unit = 0; unit < kUnits; ++unit) {
    array->submit(SimTime::zero(), {Direction::kRead, unit * kUnit, kUnit, &completion});
    for (int i = 0; i < kMembers; ++i) {
      for (const DeviceRequest& request : recorders[i]->requests) {
        EXPECT_EQ(request.bytes, kUnit);
        ++uses[{i, request.address / kUnit}];
        ++units_of_member[i];
      }
      recorders[i]->requests.clear();
    }
  }
  EXPECT_EQ(uses.size(), kUnits);  // no address twice
  for (const auto& [member, units] : units_of_member) EXPECT_EQ(units, 8) << member;
  // In each row one unit is left for parity: on every member in two rows of ten.
  std::map<int, int> parity;
  for (uint64_t row = 0; row < 10; ++row)
    for (int i = 0; i < kMembers; ++i)
      if (!uses.contains({i, row})) ++parity[i];
  for (int i = 0; i < kMembers; ++i) EXPECT_EQ(parity[i], 2);
}

TEST(Raid3, AllMembersHaveAShareOfEachRequest) {
  TestArray run(array_of(RaidLevel::k3, 5));
  EXPECT_EQ(run.serve(Direction::kRead, 0, 4000), one(1000));
  EXPECT_EQ(run.device->statistics().operations, 4u);
  EXPECT_EQ(run.serve(Direction::kWrite, 4000, 4000), one(1000));
  EXPECT_EQ(run.device->statistics().operations, 4u + 5u);
  EXPECT_EQ(run.device->statistics().bytes_written, 4000u);
}

// Between reading and rewriting the same sectors the platters turn once.
TEST(Raid5, DisksTurnOnceBetweenReadAndWriteOfASmallWrite) {
  DeviceParameters parameters = array_of(RaidLevel::k5, 5);
  parameters.kind = machine::DeviceKind::kDisk;
  parameters.sectors_per_track = 100;
  parameters.heads = 4;
  parameters.cylinders = 100;
  parameters.single_cylinder_seek = SimTime::from_ns(2'000'000);
  parameters.full_seek = SimTime::from_ns(8'000'000);
  parameters.rotations_per_minute = 6000;
  TestArray run(parameters);
  run.serve(Direction::kRead, 0, 4096);
  const SimTime rotation = SimTime::from_ns(10'000'000), transfer = SimTime::from_ns(800'000);
  const SimTime took = run.serve(Direction::kWrite, 0, 4096);
  // Data and parity are read within a rotation; from the end of the later read the member with it
  // turns exactly once, and the other one finds its sectors no later than a transfer after that.
  EXPECT_GE(took, rotation + transfer);
  EXPECT_LE(took, (rotation + transfer) * 2);
  EXPECT_EQ(run.device->statistics().operations, 1u + 4u);
}

}  // namespace
}  // namespace sesame::storage
