#include "core/network/network.h"

#include <gtest/gtest.h>

namespace sesame::network {
namespace {

using machine::Machine;
using machine::parse_machine;

// Segments with a protocol step, overheads, a gap, hops and an eager limit inside a segment.
constexpr char kMachine[] = R"(
name = "test"
[node]
cores = 2
[node.network]
latency = "1 us"
bandwidth = "5 GB/s"
eager_limit = "64 KiB"
[network]
latency = "10 us"
bandwidth = "100 MB/s"
send_overhead = "2 us"
receive_overhead = "3 us"
gap = "4 us"
hop_latency = "40 ns"
eager_limit = "16 KiB"
[[network.segment]]
up_to = "1 KiB"
bandwidth = "50 MB/s"
[[network.segment]]
latency = "21 us"
bandwidth = "100 MB/s"
[topology]
kind = "mesh"
dims = [4, 8]
)";

Machine machine_of(const std::vector<std::string>& overrides = {}) {
  auto machine = parse_machine(kMachine, "test.toml", overrides);
  EXPECT_TRUE(machine) << machine.error().to_string();
  return *machine;
}

// What a ping-pong measures when it is simulated: both sides as the equations in network.h say,
// the receiver waiting before the message is sent. Half of the round trip.
SimTime simulated_ping_pong(const Network& network, int here, int there, uint64_t bytes) {
  SimTime now = SimTime::from_ns(12'345);
  const SimTime begin = now;
  SimTime interface_free[2] = {};
  for (int i = 0; i < 2; ++i) {
    const MessageCost cost = network.cost(i == 0 ? here : there, i == 0 ? there : here, bytes);
    const SimTime posted = SimTime::zero();
    SimTime ready = now + cost.send_overhead;
    if (cost.rendezvous) {
      const SimTime asked = ready + cost.control_latency;
      ready = later(asked, posted) + cost.control_latency;
    }
    const SimTime start = later(ready, interface_free[i]);
    interface_free[i] = start + cost.injection;
    now = later(start + cost.latency + cost.transfer, posted) + cost.receive_overhead;
  }
  return SimTime::from_ps((now - begin).ps() / 2);
}

// The closed form of the machine file: intercept + hops beyond the first + bytes / bandwidth.
double closed_form_us(uint64_t bytes, int hops) {
  const double m = static_cast<double>(bytes);
  if (hops == 0) return 1 + m / 5e9 * 1e6;
  const double far = (hops - 1) * 0.040;
  return bytes <= 1024 ? 10 + far + m / 50e6 * 1e6 : 21 + far + m / 100e6 * 1e6;
}

constexpr uint64_t kSizes[] = {0,     1,     8,     1023,  1024,    1025,
                               16384, 16385, 65536, 65537, 1000000, 4194304};

TEST(Network, PingPongTakesExactlyTheClosedForm) {
  const Machine machine = machine_of();
  const auto network = Network::create(machine, 64);
  ASSERT_TRUE(network);
  for (const int there : {1, 2, 3, 15, 16, 17, 63}) {  // ranks; two per node, eight nodes per row
    const int hops = network->hops(0, there);
    for (const uint64_t bytes : kSizes) {
      const double expected_ps = closed_form_us(bytes, hops) * 1e6;
      EXPECT_NEAR(static_cast<double>(simulated_ping_pong(*network, 0, there, bytes).ps()),
                  expected_ps, 1)
          << "rank " << there << ", " << bytes << " bytes";
      EXPECT_NEAR(static_cast<double>(ping_pong(machine, bytes, hops).ps()), expected_ps, 1);
    }
  }
}

TEST(Network, RanksThatAreAddedAreAsFarAsThoseOfTheStart) {
  Network grown = *Network::create(machine_of(), 3, "cyclic");
  grown.add_ranks({3, 4, 31});
  const Network whole = *Network::create(machine_of(), 32, "cyclic");
  EXPECT_EQ(grown.ranks(), 6);
  EXPECT_EQ(grown.node_of(5), 31);
  EXPECT_EQ(grown.hops(0, 5), whole.hops(0, 31));
  EXPECT_EQ(grown.cost(4, 2, 5000).transfer, whole.cost(4, 2, 5000).transfer);
  EXPECT_EQ(grown.cost(1, 5, 0).latency, whole.cost(1, 31, 0).latency);
}

TEST(Network, PingPongIsExactWhereTheHandshakeFillsTheLatency) {
  // Without a step at the eager limit the control messages would take longer than the whole
  // latency leaves; they take a third of it each instead.
  const Machine machine = machine_of({"network.eager_limit=0"});
  const auto network = Network::create(machine, 64);
  ASSERT_TRUE(network);
  const MessageCost cost = network->cost(0, 2, 1);
  EXPECT_TRUE(cost.rendezvous);
  EXPECT_EQ(cost.control_latency.ps(), 5'000'000 / 3);
  for (const uint64_t bytes : {1, 500, 1024, 5000}) {
    EXPECT_NEAR(static_cast<double>(simulated_ping_pong(*network, 0, 2, bytes).ps()),
                closed_form_us(bytes, 1) * 1e6, 1);
  }
}

TEST(Network, SplitsTheLatencyAsLogGpDoes) {
  const auto network = Network::create(machine_of(), 64);
  ASSERT_TRUE(network);
  const MessageCost cost = network->cost(0, 63, 1000);  // 3 + 7 hops
  EXPECT_EQ(cost.send_overhead, SimTime::from_ns(2000));
  EXPECT_EQ(cost.receive_overhead, SimTime::from_ns(3000));
  EXPECT_EQ(cost.latency, SimTime::from_ns(10'000 - 2000 - 3000 + 9 * 40));
  EXPECT_EQ(cost.transfer, SimTime::from_ns(20'000));
  EXPECT_EQ(cost.injection, SimTime::from_ns(20'000));
  EXPECT_FALSE(cost.rendezvous);
}

TEST(Network, RendezvousStartsAboveTheEagerLimit) {
  const auto network = Network::create(machine_of(), 64);
  ASSERT_TRUE(network);
  EXPECT_FALSE(network->cost(0, 2, 16384).rendezvous);
  const MessageCost cost = network->cost(0, 2, 16385);
  EXPECT_TRUE(cost.rendezvous);
  EXPECT_EQ(cost.control_latency, SimTime::from_ns(5000));  // a zero-byte message on the wire
  EXPECT_EQ(cost.latency, SimTime::from_ns(21'000 - 5000 - 2 * 5000));
  EXPECT_FALSE(network->cost(0, 1, 65536).rendezvous);  // inside the node
  EXPECT_TRUE(network->cost(0, 1, 65537).rendezvous);
}

TEST(Network, SmallMessagesAreSpacedByTheGap) {
  const auto network = Network::create(machine_of(), 64);
  ASSERT_TRUE(network);
  EXPECT_EQ(network->cost(0, 2, 8).injection, SimTime::from_ns(4000));
  EXPECT_EQ(network->cost(0, 2, 200).injection, SimTime::from_ns(4000));
  EXPECT_EQ(network->cost(0, 2, 201).injection, SimTime::from_ns(4020));
}

TEST(Network, CopiesOfEagerMessagesArePartOfTheirTransfer) {
  const Machine plain = machine_of();
  const Machine copying = machine_of(
      {"network.send_copy_bandwidth=200 MB/s", "network.receive_copy_bandwidth=100 MB/s"});
  const MessageCost alone = Network::create(plain, 64)->cost(0, 2, 1000);
  const MessageCost cost = Network::create(copying, 64)->cost(0, 2, 1000);
  EXPECT_EQ(cost.send_overhead, SimTime::from_ns(2000 + 5000));
  EXPECT_EQ(cost.receive_overhead, SimTime::from_ns(3000 + 10'000));
  EXPECT_EQ(cost.transfer, SimTime::from_ns(20'000 - 15'000));
  EXPECT_EQ(cost.injection, alone.injection);
  EXPECT_EQ(ping_pong(copying, 1000), ping_pong(plain, 1000));
  const auto network = Network::create(copying, 64);
  EXPECT_EQ(network->cost(0, 2, 16385).send_overhead, SimTime::from_ns(2000));  // rendezvous
  const MessageCost by_cards = network->rdma_cost(0, 2, 1000);
  EXPECT_EQ(by_cards.send_overhead, alone.send_overhead);
  EXPECT_EQ(by_cards.receive_overhead, alone.receive_overhead);
  EXPECT_EQ(by_cards.transfer, alone.transfer);
  EXPECT_EQ(network->rdma_cost(0, 1, 1000).transfer, SimTime::from_ns(200)) << "inside the node";
  EXPECT_EQ(network->rdma_cost(0, 63, 1000).latency, network->cost(0, 63, 1000).latency);
  // However fast the wire is, the copies take their time.
  const Machine fast =
      machine_of({"network.send_copy_bandwidth=200 MB/s", "network.segment.0.bandwidth=1 TB/s"});
  EXPECT_EQ(Network::create(fast, 64)->cost(0, 2, 1000).transfer, SimTime::zero());
}

TEST(Network, AStreamMayBeFasterThanItsMessagesOneByOne) {
  Machine machine = machine_of();
  const MessageCost alone = Network::create(machine, 64)->cost(0, 2, 16000);
  machine.network.stream_bandwidth = 4 * 100e6;
  const MessageCost cost = Network::create(machine, 64)->cost(0, 2, 16000);
  EXPECT_EQ(cost.transfer, alone.transfer);
  EXPECT_EQ(cost.injection.ps(), alone.injection.ps() / 4);
  EXPECT_EQ(Network::create(machine, 64)->cost(0, 2, 8).injection, SimTime::from_ns(4000));
  machine.network.stream_bandwidth = 1;  // never slower than its messages
  EXPECT_EQ(Network::create(machine, 64)->cost(0, 2, 16000).injection, alone.injection);
}

TEST(Network, MessagesSentAtOnceFollowOneAnother) {
  const Machine machine = machine_of();
  const auto network = Network::create(machine, 64);
  ASSERT_TRUE(network);
  for (const uint64_t bytes : {8, 16000}) {  // spaced by the gap; by the bytes
    const MessageCost cost = network->cost(0, 2, bytes);
    SimTime now;
    SimTime interface_free;
    SimTime received;
    constexpr int kMessages = 10;
    for (int i = 0; i < kMessages; ++i) {
      now += cost.send_overhead;
      const SimTime start = later(now, interface_free);
      interface_free = start + cost.injection;
      received = start + cost.latency + cost.transfer + cost.receive_overhead;
    }
    const SimTime step = later(later(cost.send_overhead, SimTime::from_ns(4000)), cost.transfer);
    EXPECT_EQ(received, ping_pong(machine, bytes) + step * (kMessages - 1));
  }
}

TEST(Network, MessageToItselfUsesTheNodesConstants) {
  const auto network = Network::create(machine_of(), 64);
  ASSERT_TRUE(network);
  EXPECT_EQ(network->hops(5, 5), 0);
  const MessageCost self = network->cost(5, 5, 5000);
  const MessageCost neighbour = network->cost(4, 5, 5000);
  EXPECT_EQ(self.latency, neighbour.latency);
  EXPECT_EQ(self.transfer, SimTime::from_ns(1000));
}

TEST(Network, CopiesTakeTheMemorysTimeOrThatOfAMessageInTheNode) {
  const auto copy_of = [](const std::vector<std::string>& overrides, uint64_t bytes) {
    return Network::create(machine_of(overrides), 1)->copy_time(bytes);
  };
  EXPECT_EQ(copy_of({}, 1 << 20), SimTime::zero()) << "the machine does not say";
  EXPECT_EQ(copy_of({"node.copy_bandwidth=10 GB/s"}, 1'000'000), SimTime::from_ns(100'000));
  EXPECT_EQ(copy_of({"node.copy_bandwidth=2 GB/s"}, 1'000'000), SimTime::from_ns(200'000))
      << "a message inside the node takes 1 MB / 5 GB/s";
  EXPECT_EQ(
      copy_of({"node.copy_bandwidth=2 GB/s", "node.network.send_copy_bandwidth=6 GB/s"}, 5000),
      SimTime::from_ns(1000))
      << "also where its copies are part of that";
  EXPECT_EQ(copy_of({"node.copy_bandwidth=10 GB/s"}, 0), SimTime::zero());
}

TEST(Network, ReductionsTakeTheMachinesTime) {
  const auto time_of = [](const std::vector<std::string>& overrides, uint64_t bytes) {
    return Network::create(machine_of(overrides), 1)->reduction_time(bytes);
  };
  EXPECT_EQ(time_of({}, 1 << 20), SimTime::zero()) << "the machine does not say";
  EXPECT_EQ(time_of({"node.reduction_bandwidth=4 GB/s"}, 1'000'000), SimTime::from_ns(250'000));
  EXPECT_EQ(time_of({"node.reduction_bandwidth=4 GB/s"}, 0), SimTime::zero());
}

TEST(Network, PlacementDecidesWhatIsInsideANode) {
  const auto block = Network::create(machine_of(), 64);
  const auto cyclic = Network::create(machine_of(), 64, "cyclic");
  ASSERT_TRUE(block);
  ASSERT_TRUE(cyclic);
  EXPECT_EQ(block->node_of(1), 0);
  EXPECT_EQ(cyclic->node_of(1), 1);
  EXPECT_EQ(block->hops(0, 1), 0);
  EXPECT_EQ(cyclic->hops(0, 1), 1);
  EXPECT_EQ(cyclic->hops(0, 32), 0);
  EXPECT_EQ(cyclic->hops(31, 0), 10);
}

TEST(Network, RefusesRanksThatDoNotFit) {
  const auto network = Network::create(machine_of(), 65);
  ASSERT_FALSE(network);
  EXPECT_EQ(network.error().message,
            "65 ranks do not fit on test: it has 32 nodes of 2 cores, enough for 64 ranks");
}

TEST(Network, EverythingCostsNothingOnAnIdealMachine) {
  const auto machine = parse_machine(
      "name = \"ideal\"\nnodes = 2\n[network]\nlatency = \"0 s\"\nbandwidth = \"1e6 TB/s\"\n"
      "eager_limit = 0\n[topology]\nkind = \"crossbar\"\n",
      "ideal.toml");
  ASSERT_TRUE(machine) << machine.error().to_string();
  const auto network = Network::create(*machine, 2);
  const MessageCost cost = network->cost(0, 1, 1000);
  EXPECT_EQ(cost.latency, SimTime::zero());
  EXPECT_EQ(cost.control_latency, SimTime::zero());
  EXPECT_EQ(cost.transfer, SimTime::zero());
}

TEST(Network, AbsurdSizesStayInRange) {
  const auto machine =
      parse_machine(kMachine, "t", std::vector<std::string>{"network.bandwidth=1e-6 B/s"});
  ASSERT_TRUE(machine);
  const auto network = Network::create(*machine, 4);
  EXPECT_GT(network->cost(0, 2, uint64_t{1} << 50).transfer, SimTime::from_seconds(1e6));
}

TEST(Network, NoCostIsNegativeAndArrivalRisesWithHops) {
  const auto network = Network::create(machine_of(), 64);
  ASSERT_TRUE(network);
  for (const uint64_t bytes : kSizes) {
    SimTime before;
    for (const int there : {2, 4, 6, 14, 62}) {
      const MessageCost cost = network->cost(0, there, bytes);
      for (const SimTime part : {cost.latency, cost.transfer, cost.injection, cost.control_latency,
                                 cost.send_overhead, cost.receive_overhead}) {
        EXPECT_GE(part, SimTime::zero());
      }
      SimTime total = cost.latency + cost.transfer;
      if (cost.rendezvous) total += cost.control_latency * 2;
      EXPECT_GT(total, before);
      before = total;
    }
  }
}

}  // namespace
}  // namespace sesame::network
