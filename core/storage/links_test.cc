// Messages of files at cards that other messages share (docs/models/sharing.md).
#include "core/storage/links.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "core/network/cards.h"
#include "core/network/network.h"

namespace sesame::storage {
namespace {

const char* const kMachine = R"(name = "test"
nodes = 2
[node]
cores = 2
[node.network]
latency = "1 us"
bandwidth = "1 GB/s"
[network]
latency = "2 us"
bandwidth = "1 GB/s"
[network.card]
bandwidth = "500 MB/s"
number = 2
[topology]
kind = "crossbar"
[storage]
mount = ["/pfs"]
detail = "analytic"
analytic.bandwidth = "1 GB/s"
)";

const std::string kSlowCard = "bandwidth = \"500 MB/s\"";

constexpr SimTime kBusy = SimTime::from_ns(1'000'000);

class LinksTest : public testing::Test {
 protected:
  explicit LinksTest(const std::string& overrides = "") : machine_(read(overrides)) {}

  machine::Machine machine_;
  network::Network network_ = *network::Network::create(machine_, 4);
  network::Cards cards_{machine_};
  Links links_{*machine_.storage, network_};
  SimTime interface_free_;

  static machine::Machine read(const std::string& card) {
    std::string text = kMachine;
    if (!card.empty()) text.replace(text.find(kSlowCard), kSlowCard.size(), card);
    auto machine = machine::parse_machine(text, "test.toml");
    if (!machine) ADD_FAILURE() << machine.error().to_string();
    return machine.value();
  }
  void share_cards() {
    cards_.add_ranks({0, 0, 1, 1});
    network_.set_cards(&cards_);
  }
  SimTime arrival_from(int rank) {
    return links_.send_to_ionode(SimTime::zero(), {rank, 0, &interface_free_}, 0, 1000).arrival;
  }
};

TEST_F(LinksTest, AFileMessageWaitsForTheCardOfItsRank) {
  share_cards();
  cards_.of_rank(0).send.serve(SimTime::zero(), kBusy);
  EXPECT_GT(arrival_from(0), kBusy);
  interface_free_ = SimTime::zero();
  EXPECT_EQ(arrival_from(1), SimTime::from_ns(2'000 + 2'000));  // 500 MB/s
  EXPECT_EQ(cards_.of_rank(1).send.free, SimTime::from_ns(2'000));
}

TEST_F(LinksTest, TheInterfaceOfAnIonodeTakesMessagesOfSlowCardsAtItsOwnRate) {
  share_cards();
  const SimTime arrival = SimTime::from_ns(2'000 + 2'000);  // each through its card
  for (const auto& [node, delay_ns] : {std::pair{0, 0}, {1, 1'000}}) {
    interface_free_ = SimTime::zero();
    const MessageTimes message =
        links_.send_to_ionode(SimTime::zero(), {2 * node, node, &interface_free_}, 0, 1000);
    EXPECT_EQ(message.arrival, arrival);
    EXPECT_EQ(links_.receive_at_ionode(arrival, 0, message.transfer),
              arrival + SimTime::from_ns(delay_ns));
  }
}

TEST_F(LinksTest, WithoutSharingItHasACardOfItsOwn) {
  EXPECT_EQ(arrival_from(0), SimTime::from_ns(2'000 + 1'000));
}

TEST_F(LinksTest, WhatArrivesFromAnIonodeWaitsForTheFirstCard) {
  share_cards();
  cards_.of_node(0).receive.serve(SimTime::zero(), kBusy);
  EXPECT_EQ(links_.receive_at_node(SimTime::from_ns(10), 0, SimTime::from_ns(5)),
            kBusy + SimTime::from_ns(5));
}

// Each message at 1 GB/s, the card sends at 4 GB/s and receives at 2.
class FastCardTest : public LinksTest {
 protected:
  explicit FastCardTest(const std::string& more = "")
      : LinksTest("bandwidth = \"4 GB/s\"\nreceive_bandwidth = \"2 GB/s\"\n" + more) {
    share_cards();
  }
};

TEST_F(FastCardTest, AFileMessageOccupiesItForTheCardsTime) {
  EXPECT_EQ(arrival_from(0), SimTime::from_ns(2'000 + 1'000));
  EXPECT_EQ(cards_.of_rank(0).send.free, SimTime::from_ns(250));
  interface_free_ = SimTime::zero();
  EXPECT_EQ(arrival_from(0), SimTime::from_ns(250 + 2'000 + 1'000));
}

TEST_F(FastCardTest, WhatArrivesOccupiesItForTheCardsTime) {
  const MessageTimes message = links_.send_from_ionode(SimTime::zero(), 0, 1, 1000);
  EXPECT_EQ(message.arrival, SimTime::from_ns(2'000 + 1'000));
  EXPECT_EQ(links_.receive_at_node(message.arrival, 1, message.transfer), message.arrival);
  EXPECT_EQ(links_.receive_at_node(message.arrival, 1, message.transfer),
            message.arrival + SimTime::from_ns(500));
}

class MessageRateTest : public FastCardTest {
 protected:
  MessageRateTest() : FastCardTest("message_rate = [1e5]\n") {}  // 10 us for each message
};

TEST_F(MessageRateTest, LimitsFileMessages) {
  EXPECT_EQ(arrival_from(0), SimTime::from_ns(2'000 + 1'000));
  EXPECT_EQ(cards_.of_rank(0).send.free, SimTime::from_ns(10'000));
  const SimTime now = SimTime::from_ns(3'000);
  EXPECT_EQ(links_.receive_at_node(now, 0, SimTime::from_ns(500)), now);
  EXPECT_EQ(links_.receive_at_node(now, 0, SimTime::from_ns(500)),
            now + SimTime::from_ns(9'500 + 500));
}

}  // namespace
}  // namespace sesame::storage
