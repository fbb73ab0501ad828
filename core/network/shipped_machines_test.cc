// The machine files that are shipped: each is read, is large enough, and its ping-pong shows the
// latency and the bandwidth that the file states.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

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
  EXPECT_GE(machine.sources.size(), 2u);
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

INSTANTIATE_TEST_SUITE_P(
    All, ShippedMachine,
    testing::Values(Shipped{"paragon", 1024, SimTime::from_ns(184'000), 28e6},
                    Shipped{"sp2", 256, SimTime::from_ns(40'000), 40e6},
                    Shipped{"pfssim", 64, SimTime::from_ns(40'000), 40e6},
                    Shipped{"infiniband", 16384, SimTime::from_ns(1200), 24e9},
                    Shipped{"ethernet", 4096, SimTime::from_ns(10'000), 1.18e9},
                    Shipped{"efa", 1152, SimTime::from_ns(21'100), 2.82e9},
                    Shipped{"piz-daint", 5376, SimTime::from_ns(1300), 9.87e9},
                    Shipped{"lumi-c", 262144, SimTime::from_ns(2350), 25e9},
                    Shipped{"leonardo", 172032, SimTime::from_ns(980), 12.2e9},
                    Shipped{"fugaku", 635904, SimTime::from_ns(1050), 6.26e9},
                    Shipped{"csd3", 3136, SimTime::from_ns(980), 12.2e9},
                    Shipped{"csd3-roce", 3136, SimTime::from_ns(1440), 5.75e9},
                    Shipped{"frontera", 448448, SimTime::from_ns(980), 12.2e9},
                    Shipped{"azure-hb", 180224, SimTime::from_ns(1700), 48e9},
                    Shipped{"ndr-tapered", 181632, SimTime::from_ns(1700), 48e9},
                    Shipped{"roce-100", 65536, SimTime::from_ns(1440), 11.6e9},
                    Shipped{"roce-400", 65536, SimTime::from_ns(1440), 46.3e9}),
    [](const auto& info) {
      std::string name = info.param.name;
      std::ranges::replace(name, '-', '_');
      return name;
    });

}  // namespace
}  // namespace sesame::network
