// The machine files that are shipped: each is read, is large enough, and its ping-pong shows the
// latency and the bandwidth that the file states.
#include <gtest/gtest.h>

#include "core/machine/machine.h"
#include "core/network/network.h"

namespace sesame::network {
namespace {

struct Shipped {
  const char* name;
  int64_t ranks;  // at least
  SimTime latency;
  double bandwidth;
};

class ShippedMachine : public testing::TestWithParam<Shipped> {
 protected:
  ShippedMachine() {
    const std::string path =
        std::string(SESAME_SOURCE_DIR "/python/sesame/machines/") + GetParam().name + ".toml";
    auto read = machine::read_machine(path);
    EXPECT_TRUE(read) << read.error().to_string();
    if (read) machine = std::move(*read);
  }
  machine::Machine machine;
};

TEST_P(ShippedMachine, HasItsNameAndSources) {
  EXPECT_EQ(machine.name, GetParam().name);
  EXPECT_FALSE(machine.description.empty());
  EXPECT_GE(machine.sources.size(), 3u);
}

TEST_P(ShippedMachine, HoldsEnoughRanks) {
  EXPECT_GE(machine.capacity(), GetParam().ranks);
  const auto network = Network::create(machine, static_cast<int>(GetParam().ranks));
  ASSERT_TRUE(network) << network.error().to_string();
}

TEST_P(ShippedMachine, PingPongShowsItsLatencyAndBandwidth) {
  EXPECT_EQ(ping_pong(machine, 0), GetParam().latency);
  const double small = static_cast<double>(ping_pong(machine, 4 << 20).ps());
  const double large = static_cast<double>(ping_pong(machine, 8 << 20).ps());
  EXPECT_NEAR((4 << 20) / ((large - small) * 1e-12), GetParam().bandwidth,
              GetParam().bandwidth * 1e-6);
}

INSTANTIATE_TEST_SUITE_P(All, ShippedMachine,
                         testing::Values(Shipped{"paragon", 1024, SimTime::from_ns(184'000), 28e6},
                                         Shipped{"sp2", 256, SimTime::from_ns(40'000), 40e6},
                                         Shipped{"pfssim", 64, SimTime::from_ns(40'000), 40e6},
                                         Shipped{"infiniband", 16384, SimTime::from_ns(1200), 24e9},
                                         Shipped{"ethernet", 4096, SimTime::from_ns(10'000),
                                                 1.18e9}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace sesame::network
