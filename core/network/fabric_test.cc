// Which links a message passes: routes on every topology, checked step by step.
#include "core/network/fabric.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/network/distance.h"

namespace sesame::network {
namespace {

machine::Machine machine_with(const std::string& topology) {
  const std::string text =
      "name = \"test\"\n[network]\nlatency = \"2 us\"\nbandwidth = \"10 GB/s\"\n"
      "hop_latency = \"100 ns\"\n[topology]\n" +
      topology;
  auto machine = machine::parse_machine(text, "test.toml");
  if (!machine) ADD_FAILURE() << machine.error().to_string();
  return *machine;
}

std::vector<LinkPlace> route_of(Fabric& fabric, int from, int to, uint64_t draw = 0) {
  std::vector<LinkPlace> places;
  Route route = fabric.choose(from, to, draw, 1000, SimTime::zero());
  while (const Link* link = fabric.advance(route)) {
    places.push_back(fabric.place_of(static_cast<size_t>(link - fabric.links().data())));
  }
  return places;
}

const char* const kMesh = "kind = \"mesh\"\ndims = [3, 4]";
const char* const kTorus = "kind = \"torus\"\ndims = [4, 3, 5]";
const char* const kTree = "kind = \"fat_tree\"\narity = [4, 3, 2]\nuplinks = [2, 3]";
const char* const kHyperX = "kind = \"hyperx\"\ndims = [3, 4]\nnodes_per_router = 2";
const char* const kDragonfly =
    "kind = \"dragonfly\"\ngroups = 5\nrouters = 3\nnodes_per_router = 2\nglobal_links = 2";

TEST(Fabric, MinimalRoutesAreAsLongAsTheDistance) {
  for (const char* topology : {kMesh, kTorus, kTree, kHyperX, kDragonfly}) {
    const machine::Machine machine = machine_with(topology);
    Fabric fabric(machine);
    const Distance distance(machine.topology, machine.nodes);
    for (int from = 0; from < machine.nodes; ++from) {
      for (int to = 0; to < machine.nodes; ++to) {
        if (from == to) continue;
        const int expected = distance.hops(from, to) - (fabric.begins_at_node() ? 0 : 1);
        EXPECT_EQ(route_of(fabric, from, to).size(), static_cast<size_t>(expected))
            << topology << ": " << from << " to " << to;
      }
    }
  }
}

// Every router has a link to every group, so none is on the way to another one's.
TEST(Fabric, ParallelLinksOfADragonflyAreSpreadOverItsRouters) {
  std::string topology = kDragonfly;
  topology.replace(topology.find("global_links = 2"), 16, "global_links = 3");
  Fabric fabric(machine_with(topology));
  std::map<uint32_t, int> ports;
  for (int from = 0; from < 6; ++from) {
    for (int to = 6; to < 12; ++to) {
      const LinkPlace first = route_of(fabric, from, to).front();
      EXPECT_EQ(first.kind, 2u) << from << " to " << to;
      ++ports[first.port];
    }
  }
  EXPECT_EQ(ports, (std::map<uint32_t, int>{{0, 12}, {1, 12}, {2, 12}}));
}

TEST(Fabric, AGridGoesAlongTheFirstDimensionFirst) {
  Fabric mesh(machine_with(kMesh));
  const std::vector<LinkPlace> route = route_of(mesh, 1, 11);  // (0, 1) to (2, 3)
  std::vector<uint64_t> numbers;
  for (const LinkPlace& place : route) numbers.push_back(place.number);
  // Node (0, 1) and node (1, 1) forward in dimension 0, then (2, 1) and (2, 2) in dimension 1.
  EXPECT_EQ(numbers, (std::vector<uint64_t>{4 * 1, 4 * 5, 4 * 9 + 2, 4 * 10 + 2}));
  Fabric torus(machine_with("kind = \"torus\"\ndims = [5]"));
  EXPECT_EQ(route_of(torus, 0, 4).front().number, 1u);  // backward around the end
}

TEST(Fabric, AHyperXGoesAlongTheFirstDimensionFirst) {
  Fabric hyperx(machine_with(kHyperX));
  std::vector<uint64_t> numbers;
  // Router (0, 1) to (2, 3) by way of (2, 1); a router has ports to 3 and to 4 coordinates.
  for (const LinkPlace& place : route_of(hyperx, 2, 23)) numbers.push_back(place.number);
  EXPECT_EQ(numbers, (std::vector<uint64_t>{7 * 1 + 2, 7 * 9 + 3 + 3}));
  EXPECT_TRUE(route_of(hyperx, 2, 3).empty());
}

// Each router is passed as often; of the two ends it is no detour.
TEST(Fabric, ValiantRoutesOfAHyperXPassEveryRouterEquallyOften) {
  Fabric hyperx(
      machine_with("kind = \"hyperx\"\ndims = [5]\nnodes_per_router = 1\n"
                   "routing = \"valiant\""));
  std::map<std::vector<uint64_t>, int> routes;
  for (uint64_t draw = 0; draw < 30; ++draw) {
    std::vector<uint64_t> numbers;
    for (const LinkPlace& place : route_of(hyperx, 0, 1, draw)) numbers.push_back(place.number);
    ++routes[numbers];
  }
  EXPECT_EQ(routes, (std::map<std::vector<uint64_t>, int>{
                        {{1}, 12}, {{2, 5 * 2 + 1}, 6}, {{3, 5 * 3 + 1}, 6}, {{4, 5 * 4 + 1}, 6}}));
}

TEST(Fabric, ATreeGoesUpAndDownThroughTheSameSwitchAbove) {
  Fabric tree(machine_with(kTree));
  for (int to = 4; to < 24; ++to) {
    const std::vector<LinkPlace> route = route_of(tree, 0, to);
    for (size_t i = 0; i < route.size() / 2; ++i) {
      const LinkPlace& up = route[i];
      const LinkPlace& down = route[route.size() - 1 - i];
      EXPECT_EQ(up.kind + 1, down.kind);
      EXPECT_EQ(up.port, down.port);
      EXPECT_EQ(up.number, 0u);
    }
  }
  EXPECT_TRUE(route_of(tree, 0, 3).empty());
}

// With full bisection every node is reached by a link of its own from above.
TEST(Fabric, DestinationsBelowASwitchHaveLinksOfTheirOwn) {
  Fabric tree(machine_with("kind = \"fat_tree\"\narity = [4, 4]"));
  std::set<uint32_t> ports;
  for (int to = 4; to < 8; ++to) ports.insert(route_of(tree, 0, to).back().port);
  EXPECT_EQ(ports.size(), 4u);
}

TEST(Fabric, HashedRoutesDependOnBothEnds) {
  Fabric tree(machine_with("kind = \"fat_tree\"\narity = [8, 8]\nrouting = \"hashed\""));
  std::set<uint32_t> ports;
  for (int from = 0; from < 8; ++from) ports.insert(route_of(tree, from, 8).back().port);
  EXPECT_GT(ports.size(), 2u);
}

TEST(Fabric, ValiantRoutesPassEveryOtherGroupEquallyOften) {
  Fabric dragonfly(machine_with(std::string(kDragonfly) + "\nrouting = \"valiant\""));
  std::map<uint64_t, int> first_hops;
  for (uint64_t draw = 0; draw < 30; ++draw) {
    const std::vector<LinkPlace> route = route_of(dragonfly, 0, 7, draw);  // group 0 to group 1
    std::vector<uint64_t> globals;
    for (const LinkPlace& place : route) {
      if (place.kind == 2) globals.push_back(place.number);
    }
    ASSERT_EQ(globals.size(), 2u);
    EXPECT_EQ(globals[0] / 5, 0u);
    EXPECT_EQ(globals[0] % 5, globals[1] / 5);
    EXPECT_EQ(globals[1] % 5, 1u);
    ++first_hops[globals[0]];
  }
  EXPECT_EQ(first_hops, (std::map<uint64_t, int>{{2, 10}, {3, 10}, {4, 10}}));
  EXPECT_LE(route_of(dragonfly, 0, 5).size(), 1u);  // inside a group: minimal
}

// How many links between groups the route of a message passes that enters at `now`.
size_t globals_of(Fabric& fabric, int to, uint64_t bytes, SimTime now = SimTime::zero()) {
  Route route = fabric.choose(0, to, 0, bytes, now);
  size_t count = 0;
  while (const Link* link = fabric.advance(route)) {
    count += fabric.place_of(static_cast<size_t>(link - fabric.links().data())).kind == 2;
  }
  return count;
}

// Both links to a group begin at its only router.
const char* const kAdaptive =
    "kind = \"dragonfly\"\ngroups = 5\nrouters = 1\nnodes_per_router = 6\nglobal_links = 2\n"
    "routing = \"adaptive\"";

TEST(Fabric, AdaptiveRoutesAvoidLinksThatEarlierOnesWillUse) {
  Fabric dragonfly(machine_with(kAdaptive));
  // The links are never occupied: only what is expected counts. There are two links to group 1.
  EXPECT_EQ(globals_of(dragonfly, 7, 1'000'000), 1u);
  EXPECT_EQ(globals_of(dragonfly, 7, 1'000'000), 1u);
  EXPECT_EQ(globals_of(dragonfly, 7, 1'000'000), 2u);
}

TEST(Fabric, AMessageIsExpectedUntilTheLinkServesIt) {
  Fabric dragonfly(machine_with(kAdaptive));
  for (int i = 0; i < 2; ++i) {
    Route route = dragonfly.choose(0, 6, 0, 1'000'000, SimTime::zero());
    SimTime now;
    while (Link* link = dragonfly.advance(route)) {
      EXPECT_EQ(globals_of(dragonfly, 6, 0), i == 0 ? 1u : 2u) << "on its way to a link";
      now = dragonfly.serve(route, *link, now, 1'000'000) + SimTime::from_ns(100);
    }
  }
  EXPECT_EQ(globals_of(dragonfly, 6, 0, SimTime::from_ns(1000)), 2u) << "while they pass";
  EXPECT_EQ(globals_of(dragonfly, 6, 0, SimTime::from_ns(200'000)), 1u) << "behind them";
}

// A choice knows only of links that begin in the group of the sender.
TEST(Fabric, AdaptiveRoutesDoNotSeeOtherGroups) {
  Fabric dragonfly(machine_with(kAdaptive));
  for (int link = 0; link < 2; ++link) {
    EXPECT_EQ(globals_of(dragonfly, 12, 1'000'000), 1u);      // group 0 to 2
    dragonfly.choose(6, 12, 0, 10'000'000, SimTime::zero());  // group 1 to 2: far busier
  }
  EXPECT_EQ(globals_of(dragonfly, 12, 0), 2u) << "through group 1";
}

TEST(Fabric, LinksHaveTheBandwidthOfTheFile) {
  machine::Machine machine = machine_with(kDragonfly);
  machine.sharing.link = {20e9, 5e9};
  Fabric fabric(machine);
  EXPECT_EQ(fabric.time_of(fabric.links().front(), 1'000'000), SimTime::from_ns(50'000));
  EXPECT_EQ(fabric.time_of(fabric.links().back(), 1'000'000), SimTime::from_ns(200'000));
}

}  // namespace
}  // namespace sesame::network
