// What machine files say about sharing: read, and refused with file and line.
#include <gtest/gtest.h>

#include "core/machine/machine.h"

namespace sesame::machine {
namespace {

constexpr char kTree[] =
    "name = \"tree\"\n"  // 1
    "node = {cores = 4, network = {latency = \"1 us\", bandwidth = \"5 GB/s\"}}\n"
    "[network]\n"                // 3
    "latency = \"2 us\"\n"       // 4
    "bandwidth = \"10 GB/s\"\n"  // 5
    "[topology]\n"               // 6
    "kind = \"fat_tree\"\n"      // 7
    "arity = [4, 4]\n";          // 8

Result<Machine> tree_with(const std::vector<std::string>& overrides) {
  return parse_machine(kTree, "m.toml", overrides);
}

std::string complaint(const std::string& more) {
  const auto machine = parse_machine(kTree + more, "m.toml");
  return machine ? "" : machine.error().to_string();
}

void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(SharingTable, CardsAndLinksAreReadFromTheFile) {
  const auto machine = tree_with(
      {"network.sharing=links", "network.card.number=2", "network.card.assignment=cyclic",
       "network.card.bandwidth=12 GB/s", "network.card.pairs=[1,16]",
       "network.card.message_rate=[6.9e6,99e6]", "network.link.bandwidth=20 GB/s",
       "node.network.total_bandwidth=80 GB/s", "topology.uplinks=[2]", "topology.routing=hashed"});
  ASSERT_TRUE(machine) << machine.error().to_string();
  const Sharing& sharing = machine->sharing;
  EXPECT_EQ(sharing.mode, SharingMode::kLinks);
  EXPECT_EQ(sharing.card.number, 2u);
  EXPECT_EQ(sharing.card.assignment, CardAssignment::kCyclic);
  EXPECT_EQ(sharing.card.receive.bandwidth, 12e9);  // as for sending
  EXPECT_EQ(sharing.card.receive.message_rate, (std::vector<double>{6.9e6, 99e6}));
  EXPECT_EQ(sharing.link.bandwidth, 20e9);
  EXPECT_EQ(sharing.link.global_bandwidth, 20e9);
  EXPECT_EQ(sharing.memory_bandwidth, 80e9);
  EXPECT_EQ(machine->topology.uplinks, std::vector<uint32_t>{2});
  EXPECT_EQ(machine->topology.routing, Routing::kHashed);
}

TEST(SharingTable, AFatTreeHasFullBisectionUnlessTheFileSaysOtherwise) {
  EXPECT_EQ(tree_with({})->topology.uplinks, std::vector<uint32_t>{4});
  EXPECT_EQ(tree_with({})->topology.routing, Routing::kDestination);
}

TEST(SharingTable, ACardThatNoRankUsesIsRefused) {
  const std::string said = complaint("[network.card]\nnumber = 5\n");
  expect_contains(said, "m.toml:10");
  expect_contains(said, "expected network.card.number of at most node.cores (4), got 5");
}

TEST(SharingTable, RatesMustBelongToRisingPairs) {
  expect_contains(complaint("[network.card]\nmessage_rate = [1e6, 2e6]\n"), "m.toml:10");
  const std::string said = complaint("[network.card]\npairs = [4, 2]\nmessage_rate = [1e6, 2e6]\n");
  expect_contains(said, "m.toml:10");
  expect_contains(said, "must rise");
}

TEST(SharingTable, RoutesThatATopologyDoesNotHaveAreRefused) {
  const std::string said = complaint("routing = \"valiant\"\n");
  expect_contains(said, "m.toml:9");
  expect_contains(said, "expected topology.routing destination or hashed, got \"valiant\"");
  expect_contains(complaint("global_links = 2\n"), "has no meaning for a fat_tree");
}

TEST(SharingTable, UplinksHaveANumberForEachLevelButTheTop) {
  const std::string said = complaint("uplinks = [4, 4]\n");
  expect_contains(said, "m.toml:9");
  expect_contains(said, "expected 1, got 2");
}

TEST(SharingTable, MoreLinksThanASimulationHoldsAreRefused) {
  const auto text = [](const char* sharing, const char* topology) {
    return std::string("name = \"m\"\n[network]\nlatency = \"2 us\"\nbandwidth = \"10 GB/s\"\n") +
           "sharing = \"" + sharing + "\"\n[topology]\n" + topology;
  };
  for (const char* topology :
       {"kind = \"dragonfly\"\ngroups = 70000\nrouters = 1\nnodes_per_router = 1\n",
        "kind = \"dragonfly\"\ngroups = 2\nrouters = 65536\nnodes_per_router = 1\n",
        "kind = \"hyperx\"\ndims = [16384]\nnodes_per_router = 1\n",
        "kind = \"fat_tree\"\narity = [2, 2]\nuplinks = [2147483647]\n"}) {
    const auto machine = parse_machine(text("links", topology), "m.toml");
    ASSERT_FALSE(machine) << topology;
    expect_contains(machine.error().to_string(), "m.toml:5");
    expect_contains(machine.error().to_string(), "expected at most 33554432");
    EXPECT_TRUE(parse_machine(text("interface", topology), "m.toml")) << topology;
  }
}

}  // namespace
}  // namespace sesame::machine
