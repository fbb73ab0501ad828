// Which card each rank uses, and how long a message occupies it (docs/models/sharing.md).
#include "core/network/cards.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sesame::network {
namespace {

Cards cards_of(const std::vector<std::string>& overrides, int ranks) {
  const char* const text = R"(name = "test"
nodes = 2
[node]
cores = 64
[node.network]
latency = "1 us"
bandwidth = "10 GB/s"
[network]
latency = "2 us"
bandwidth = "10 GB/s"
stream_bandwidth = "12.5 GB/s"
[topology]
kind = "crossbar"
)";
  auto machine = machine::parse_machine(text, "test.toml", overrides);
  if (!machine) ADD_FAILURE() << machine.error().to_string();
  Cards cards(*machine);
  cards.add_ranks(std::vector<int>(static_cast<size_t>(ranks), 1));
  return cards;
}

std::vector<int> assignment(const Cards& cards, int ranks) {
  std::vector<int> numbers;
  for (int rank = 0; rank < ranks; ++rank) {
    EXPECT_EQ(cards.of_rank(rank).node, 1u);
    numbers.push_back(static_cast<int>(&cards.of_rank(rank) - &cards.of_rank(0)));
  }
  return numbers;
}

TEST(Cards, RanksOfANodeAreSpreadOverItsCards) {
  const std::vector<std::string> block = {"network.card.number=2"};
  EXPECT_EQ(assignment(cards_of(block, 6), 6), (std::vector{0, 0, 0, 1, 1, 1}));
  const std::vector<std::string> cyclic = {"network.card.number=2",
                                           "network.card.assignment=cyclic"};
  EXPECT_EQ(assignment(cards_of(cyclic, 5), 5), (std::vector{0, 1, 0, 1, 0}));
}

TEST(Cards, ACardCarriesWhatAStreamDoesUnlessTheFileSaysOtherwise) {
  EXPECT_EQ(cards_of({}, 1).send_time(1'000'000, 0), SimTime::from_ns(80'000));
  const Cards cards =
      cards_of({"network.card.bandwidth=20 GB/s", "network.card.receive_bandwidth=5 GB/s"}, 1);
  EXPECT_EQ(cards.send_time(1'000'000, 0), SimTime::from_ns(50'000));
  EXPECT_EQ(cards.receive_time(1'000'000, 0), SimTime::from_ns(200'000));
}

TEST(Cards, BusyCoresSlowThem) {
  const Cards cards =
      cards_of({"network.card.bandwidth=10 GB/s", "network.card.slowdown=[1, 1.5, 3]"}, 1);
  for (const auto& [busy, ns] : {std::pair{0, 100}, {1, 100}, {2, 150}, {3, 300}, {64, 300}}) {
    EXPECT_EQ(cards.send_time(1000, busy), SimTime::from_ns(ns)) << busy;
  }
}

TEST(Cards, TheMessageRateDependsOnTheRanksAtTheCard) {
  const std::vector<std::string> overrides = {"network.card.pairs=[1, 11, 31]",
                                              "network.card.message_rate=[1e6, 2e7, 1e7]",
                                              "network.card.receive_message_rate=[1e6, 1e6, 1e6]"};
  const auto gap = [&](int ranks) { return cards_of(overrides, ranks).of_rank(0).send.gap; };
  EXPECT_EQ(gap(1), SimTime::from_ns(1000));
  EXPECT_EQ(gap(11), SimTime::from_ns(50));
  EXPECT_EQ(gap(21), SimTime::from_seconds(1 / 1.5e7));  // linear between the points
  EXPECT_EQ(gap(64), SimTime::from_ns(100));             // beyond them as at the last
  EXPECT_EQ(cards_of(overrides, 11).of_rank(0).receive.gap, SimTime::from_ns(1000));
  EXPECT_EQ(cards_of({}, 11).of_rank(0).send.gap, SimTime::zero());
}

TEST(Cards, AServerTakesOneMessageAfterTheOther) {
  Server server;
  EXPECT_EQ(server.serve(SimTime::from_ns(5), SimTime::from_ns(10)), SimTime::from_ns(5));
  EXPECT_EQ(server.serve(SimTime::from_ns(6), SimTime::from_ns(10)), SimTime::from_ns(15));
  EXPECT_EQ(server.serve(SimTime::from_ns(90), SimTime::from_ns(10)), SimTime::from_ns(90));
}

}  // namespace
}  // namespace sesame::network
