#include "core/network/distance.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace sesame::network {
namespace {

using machine::Topology;
using machine::TopologyKind;

Topology grid(TopologyKind kind, std::vector<uint32_t> dims) {
  Topology topology;
  topology.kind = kind;
  topology.dims = std::move(dims);
  return topology;
}

Topology tree(std::vector<uint32_t> arity) {
  Topology topology;
  topology.kind = TopologyKind::kFatTree;
  topology.arity = std::move(arity);
  return topology;
}

Topology dragonfly(uint32_t groups, uint32_t routers, uint32_t nodes_per_router,
                   uint32_t global_links = 1) {
  Topology topology;
  topology.kind = TopologyKind::kDragonfly;
  topology.groups = groups;
  topology.routers = routers;
  topology.nodes_per_router = nodes_per_router;
  topology.global_links = global_links;
  return topology;
}

Topology hyperx(std::vector<uint32_t> dims, uint32_t nodes_per_router) {
  Topology topology = grid(TopologyKind::kHyperX, std::move(dims));
  topology.nodes_per_router = nodes_per_router;
  return topology;
}

struct Counted {
  double mean = 0;
  int largest = 0;
};

// Mean and largest over all pairs, the plain way; also that distance is symmetric and zero only
// for a node and itself.
Counted count(const Distance& distance) {
  Counted counted;
  for (int from = 0; from < distance.nodes(); ++from) {
    for (int to = 0; to < distance.nodes(); ++to) {
      const int hops = distance.hops(from, to);
      EXPECT_EQ(hops, distance.hops(to, from)) << from << " " << to;
      EXPECT_EQ(hops == 0, from == to) << from << " " << to;
      counted.mean += hops;
      counted.largest = std::max(counted.largest, hops);
    }
  }
  const double nodes = distance.nodes();
  counted.mean /= nodes * (nodes - 1);
  return counted;
}

void expect_summary(const Distance& distance, double mean, int diameter) {
  const Counted counted = count(distance);
  EXPECT_NEAR(counted.mean, mean, 1e-9);
  EXPECT_NEAR(distance.mean_hops(), mean, 1e-9);
  EXPECT_EQ(counted.largest, diameter);
  EXPECT_EQ(distance.diameter(), diameter);
}

TEST(Crossbar, EveryOtherNodeIsOneHopAway) {
  Topology topology;
  topology.kind = TopologyKind::kCrossbar;
  expect_summary(Distance(topology, 7), 1, 1);
}

TEST(Mesh, DistanceIsManhattan) {
  const Distance distance(grid(TopologyKind::kMesh, {16, 64}), 1024);
  EXPECT_EQ(distance.hops(0, 1), 1);  // the last dimension varies fastest
  EXPECT_EQ(distance.hops(0, 63), 63);
  EXPECT_EQ(distance.hops(0, 64), 1);
  EXPECT_EQ(distance.hops(63, 64), 64);  // end of a row to the start of the next
  EXPECT_EQ(distance.hops(0, 1023), 15 + 63);
}

TEST(Mesh, MeanDistanceIsThatOfItsLines) {
  // Mean over all ordered pairs with a node and itself: the sum of (k² - 1) / 3k.
  const double with_self = (16.0 * 16 - 1) / (3 * 16) + (8.0 * 8 - 1) / (3 * 8);
  expect_summary(Distance(grid(TopologyKind::kMesh, {16, 8}), 128), with_self * 128 / 127, 22);
}

TEST(Torus, GoesTheShorterWayRound) {
  const Distance distance(grid(TopologyKind::kTorus, {4, 5, 6}), 120);
  EXPECT_EQ(distance.hops(0, 5), 1);
  EXPECT_EQ(distance.hops(0, 3), 3);
  EXPECT_EQ(distance.hops(0, 6 * 4), 1);
  EXPECT_EQ(distance.hops(0, 30 * 2), 2);
  EXPECT_EQ(distance.hops(0, 30 * 3), 1);
  EXPECT_EQ(distance.hops(0, 119), 3);
}

TEST(Torus, MeanDistanceIsThatOfItsRings) {
  // Even ring: k / 4. Odd ring: (k² - 1) / 4k.
  const double with_self = 4 / 4.0 + (25 - 1) / 20.0 + 6 / 4.0;
  expect_summary(Distance(grid(TopologyKind::kTorus, {4, 5, 6}), 120), with_self * 120 / 119,
                 2 + 2 + 3);
}

TEST(Torus, OfTwoPerDimensionIsAHypercube) {
  const Distance distance(grid(TopologyKind::kTorus, std::vector<uint32_t>(10, 2)), 1024);
  EXPECT_EQ(distance.hops(0b1010101010, 0b0101010101), 10);
  EXPECT_EQ(distance.hops(0b1111100000, 0b1111100100), 1);
  // A node has C(10, d) others at distance d: mean 10 · 2^9 / (2^10 - 1).
  EXPECT_NEAR(distance.mean_hops(), 10.0 * 512 / 1023, 1e-9);
}

TEST(FatTree, PassesOneSwitchUpAndDownPerLevel) {
  const Distance distance(tree({4, 3, 2}), 24);
  EXPECT_EQ(distance.hops(0, 3), 1);  // same leaf switch
  EXPECT_EQ(distance.hops(3, 4), 3);  // leaf, level 2, leaf
  EXPECT_EQ(distance.hops(0, 11), 3);
  EXPECT_EQ(distance.hops(11, 12), 5);  // through the top
  EXPECT_EQ(distance.hops(0, 23), 5);
}

TEST(FatTree, MeanDistanceWeighsTheLevels) {
  // Of the 23 others, 3 share the leaf, 8 the level-2 switch, 12 only the top.
  expect_summary(Distance(tree({4, 3, 2}), 24), (3 * 1 + 8 * 3 + 12 * 5) / 23.0, 5);
}

TEST(FatTree, MayBePartlyFilled) {
  const Distance distance(tree({4, 3, 2}), 8);
  expect_summary(distance, (3 * 1 + 4 * 3) / 7.0, 3);
}

TEST(FatTree, OfAMillionNodesIsSummedAtOnce) {
  const double hops = (999.0 * 1 + 999000.0 * 3) / 999999;
  EXPECT_NEAR(Distance(tree({1000, 1000}), 1000000).mean_hops(), hops, 1e-9);
}

TEST(FatTree, MeanDistanceIsThatOfItsPairsHoweverFilled) {
  for (int nodes = 2; nodes <= 24; ++nodes) {
    const Distance distance(tree({4, 3, 2}), nodes);
    EXPECT_NEAR(distance.mean_hops(), count(distance).mean, 1e-9) << nodes;
  }
}

TEST(HyperX, PassesOneMoreRouterForEachDimension) {
  const Distance distance(hyperx({3, 4}, 2), 24);
  EXPECT_EQ(distance.hops(0, 1), 1);   // same router
  EXPECT_EQ(distance.hops(0, 2), 2);   // (0, 0) to (0, 1)
  EXPECT_EQ(distance.hops(0, 7), 2);   // (0, 0) to (0, 3)
  EXPECT_EQ(distance.hops(0, 16), 2);  // (0, 0) to (2, 0)
  EXPECT_EQ(distance.hops(0, 23), 3);
}

TEST(HyperX, MeanDistanceIsThatOfItsDimensions) {
  // Over all pairs with a node and itself a coordinate differs with probability 1 - 1 / extent.
  const double with_self = 1 - 1. / 3 + 1 - 1. / 4 + 1;
  expect_summary(Distance(hyperx({3, 4}, 2), 24), (with_self * 24 - 1) / 23, 3);
}

TEST(HyperX, DistancesAreThoseOfItsPairsHoweverFilled) {
  for (int nodes = 2; nodes <= 24; ++nodes) {
    const Distance distance(hyperx({2, 1, 3, 2}, 2), nodes);
    EXPECT_NEAR(distance.mean_hops(), count(distance).mean, 1e-9) << nodes;
    EXPECT_EQ(distance.diameter(), count(distance).largest) << nodes;
  }
}

TEST(Dragonfly, RoutesLocalGlobalLocal) {
  // Three routers per group and four groups: each router of a group owns one global link.
  const Distance distance(dragonfly(4, 3, 2), 24);
  EXPECT_EQ(distance.hops(0, 1), 1);  // same router
  EXPECT_EQ(distance.hops(0, 2), 2);  // same group
  EXPECT_EQ(distance.hops(0, 5), 2);
  // Group 0's link to group 1 is on router 0; group 1's link to group 0 is on its router 0.
  EXPECT_EQ(distance.hops(0, 6), 2);  // both ends own the link
  EXPECT_EQ(distance.hops(2, 6), 3);  // local hop at the source
  EXPECT_EQ(distance.hops(0, 8), 3);  // local hop at the destination
  EXPECT_EQ(distance.hops(2, 8), 4);
  // Group 0's link to group 3 is on router 2; group 3's link to group 0 is on its router 0.
  EXPECT_EQ(distance.hops(4, 18), 2);
  EXPECT_EQ(distance.hops(0, 18), 3);
}

TEST(Dragonfly, MeanDistanceIsThatOfMinimalRouting) {
  // g groups of a routers of p nodes. For every pair of groups one router of a holds the link, so
  // that a local hop is needed with probability (a - 1) / a at either end.
  const double g = 9;
  const double a = 4;
  const double p = 2;
  const double other_groups = (g - 1) * a * p * (2 + 2 * (a - 1) / a);
  const double same_group = (a - 1) * p * 2;
  const double same_router = (p - 1) * 1;
  expect_summary(Distance(dragonfly(9, 4, 2), 72),
                 (other_groups + same_group + same_router) / (g * a * p - 1), 4);
}

TEST(Dragonfly, MeanDistanceIsThatOfItsPairsHoweverFilled) {
  for (const uint32_t global_links : {1, 3, 6}) {
    for (int nodes = 2; nodes <= 40; ++nodes) {
      const Distance distance(dragonfly(5, 4, 2, global_links), nodes);
      EXPECT_NEAR(distance.mean_hops(), count(distance).mean, 1e-9) << nodes;
    }
  }
}

// With as many links between two groups as routers each router has one of them.
TEST(Dragonfly, ParallelLinksAreSpreadOverTheRouters) {
  const Distance every(dragonfly(4, 3, 2, 3), 24);
  int joined = 0;
  for (int to = 6; to < 12; to += 2) {
    for (int from = 0; from < 6; from += 2) {
      EXPECT_LE(every.hops(from, to), 3);
      joined += every.hops(from, to) == 2;
    }
  }
  EXPECT_EQ(joined, 3);
  // Two links at four routers: those of groups 0 and 1 are at routers 0 and 2 of each.
  const Distance half(dragonfly(5, 4, 1, 2), 20);
  EXPECT_EQ(half.hops(0, 4), 2);
  EXPECT_EQ(half.hops(2, 6), 2);
  EXPECT_EQ(half.hops(0, 6), 3);
  EXPECT_EQ(half.hops(1, 6), 3);
  EXPECT_EQ(half.hops(1, 5), 4);
}

TEST(Dragonfly, OfOneGroupIsItsRouters) {
  expect_summary(Distance(dragonfly(1, 4, 1), 4), 2, 2);
  expect_summary(Distance(dragonfly(1, 1, 4), 4), 1, 1);
}

TEST(Distance, OfOneNodeIsNothing) {
  const Distance distance(grid(TopologyKind::kMesh, {1, 1}), 1);
  EXPECT_EQ(distance.hops(0, 0), 0);
  EXPECT_EQ(distance.diameter(), 0);
  EXPECT_EQ(distance.mean_hops(), 0);
}

}  // namespace
}  // namespace sesame::network
