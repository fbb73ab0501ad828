#include <gtest/gtest.h>

#include <cmath>

#include "core/storage/make_device.h"
#include "core/storage/service_models.h"

namespace sesame::storage {
namespace {

using machine::DeviceParameters;

// A page moves over its channel in 4.096 us.
DeviceParameters flash() {
  DeviceParameters parameters;
  parameters.kind = machine::DeviceKind::kSolidState;
  parameters.channels = 8;
  parameters.page = 4096;
  parameters.pages_per_block = 100;
  parameters.page_read = SimTime::from_ns(50'000);
  parameters.page_program = SimTime::from_ns(500'000);
  parameters.block_erase = SimTime::from_ns(2'000'000);
  parameters.channel_bandwidth = 1e9;
  parameters.controller_overhead = SimTime::from_ns(10'000);
  return parameters;
}

const SimTime kMove = SimTime::from_ns(4096);
const SimTime kRead = SimTime::from_ns(50'000);
const SimTime kProgram = SimTime::from_ns(520'000);  // with a hundredth of an erase
const SimTime kOverhead = SimTime::from_ns(10'000);

SimTime serve(const DeviceParameters& parameters, Direction direction, uint64_t address,
              uint64_t bytes) {
  DeviceStatistics totals;
  return make_solid_state(parameters)
      ->serve(SimTime::zero(), {direction, address, bytes, nullptr}, totals);
}

TEST(SolidState, ReadsAPageInPageTimeAndChannelTime) {
  EXPECT_EQ(serve(flash(), Direction::kRead, 4096 * 5, 4096), kOverhead + kRead + kMove);
  // The array reads a whole page, the channel moves what is asked for.
  EXPECT_EQ(serve(flash(), Direction::kRead, 100, 1000),
            kOverhead + kRead + SimTime::from_ns(1000));
}

TEST(SolidState, ProgramsAPageWithItsShareOfAnErase) {
  EXPECT_EQ(serve(flash(), Direction::kWrite, 0, 4096), kOverhead + kMove + kProgram);
}

TEST(SolidState, ReadsAPageFirstThatItWritesInPart) {
  EXPECT_EQ(serve(flash(), Direction::kWrite, 0, 1000),
            kOverhead + kRead + SimTime::from_ns(1000) + kProgram);
}

// Eight pages take as long as one; each further row of eight follows it.
TEST(SolidState, UsesAllChannelsForALargeRequest) {
  const SimTime one = kRead + kMove;
  EXPECT_EQ(serve(flash(), Direction::kRead, 0, 8 * 4096), kOverhead + one);
  EXPECT_EQ(serve(flash(), Direction::kRead, 0, 9 * 4096), kOverhead + one * 2);
  EXPECT_EQ(serve(flash(), Direction::kRead, 3 * 4096, 80 * 4096), kOverhead + one * 10);
  EXPECT_EQ(serve(flash(), Direction::kWrite, 0, 80 * 4096), kOverhead + (kMove + kProgram) * 10);
}

// With four dies on a channel their page times overlap; the channel is busy a page at a time.
TEST(SolidState, OverlapsTheDiesOfAChannel) {
  DeviceParameters parameters = flash();
  parameters.dies = 4;
  EXPECT_EQ(serve(parameters, Direction::kRead, 0, 32 * 4096), kOverhead + kRead + kMove * 4);
  EXPECT_EQ(serve(parameters, Direction::kWrite, 0, 32 * 4096), kOverhead + kMove * 4 + kProgram);
  // Sixteen dies move pages for longer than a page read takes: the channels are the limit.
  parameters.dies = 16;
  EXPECT_EQ(serve(parameters, Direction::kRead, 0, uint64_t{8} * 160 * 4096),
            kOverhead + kRead + kMove * 160);
}

TEST(SolidState, IsNoFasterThanItsInterface) {
  DeviceParameters parameters = flash();
  parameters.dies = 16;
  parameters.interface_bandwidth = 2e9;
  const SimTime all = SimTime::from_ns(1280 * 2048);
  EXPECT_EQ(serve(parameters, Direction::kRead, 0, uint64_t{1280} * 4096),
            kOverhead + kRead + kMove + all);
}

TEST(SolidState, WorksOnRequestsForDifferentChannelsAtTheSameTime) {
  struct RecordedCompletion : Completion {
    void done(SimTime when) override { at = when; }
    SimTime at;
  };
  DeviceParameters parameters = flash();
  parameters.queue_depth = 8;
  pdes::EventQueue events;
  const auto device = make_device(parameters, events, 0);
  RecordedCompletion requests[9];
  for (uint64_t i = 0; i < 9; ++i)
    device->submit(SimTime::zero(), {Direction::kRead, i * 4096, 4096, &requests[i]});
  while (!events.empty()) events.take_earliest().fire();
  for (int i = 0; i < 8; ++i) EXPECT_EQ(requests[i].at, kOverhead + kRead + kMove);
  // The ninth waits for a free slot of the device, and then has its channel to itself.
  EXPECT_EQ(requests[8].at, (kOverhead + kRead + kMove) * 2);
  EXPECT_EQ(device->statistics().busy, (kOverhead + kRead + kMove) * 2);
}

}  // namespace
}  // namespace sesame::storage
