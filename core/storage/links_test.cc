// Messages of files at cards that other messages share (docs/models/sharing.md).
#include "core/storage/links.h"

#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <utility>

#include "core/network/network.h"
#include "core/network/traffic.h"

namespace sesame::storage {
namespace {

const char* const kMachine = R"(name = "test"
nodes = 3
[node]
cores = 2
[node.network]
latency = "1 us"
bandwidth = "1 GB/s"
[network]
latency = "2 us"
bandwidth = "1 GB/s"
sharing = "interface"
[network.card]
bandwidth = "500 MB/s"
number = 2
[topology]
kind = "crossbar"
[storage]
mount = ["/pfs"]
ionodes = 4
device.read_latency = "1 ms"
device.write_latency = "1 ms"
device.read_bandwidth = "1 GB/s"
device.write_bandwidth = "1 GB/s"
)";

const std::string kCard = "bandwidth = \"500 MB/s\"\nnumber = 2";
constexpr uint64_t kKilobyte = 1'000;  // 1 us at 1 GB/s, 2 us at the card
constexpr SimTime kLatency = SimTime::from_ns(2'000);

SimTime us(int64_t count) { return SimTime::from_ns(1'000 * count); }

// The arrival of a message, or the end of an exchange.
struct Arrival final : pdes::ConditionalEvent, Completion {
  void fire() override { at = time(); }
  void done(SimTime end) override { at = end; }
  SimTime at = SimTime::never();
};

struct RankMessage final : network::Transit {
  void arrives(SimTime time) override { at = time; }
  SimTime at = SimTime::never();
};

// Two ranks on each of three nodes; each rank has a card of its own, unless a test changes that.
class LinksTest : public testing::Test {
 protected:
  explicit LinksTest(const std::string& card = kCard) : machine_(read(card)) {}

  Client rank(int number) {
    return {number, network_.node_of(number), &interfaces_[static_cast<size_t>(number)]};
  }
  Arrival& send_to_ionode(const Client& client, uint32_t ionode = 0,
                          SimTime ready = SimTime::zero()) {
    Arrival& arrival = arrivals_.emplace_back();
    times_ = links_.send_to_ionode(ready, client, ionode, kKilobyte, arrival);
    return arrival;
  }
  Arrival& send_from_ionode(uint32_t ionode, const Client& client,
                            SimTime ready = SimTime::zero()) {
    Arrival& arrival = arrivals_.emplace_back();
    times_ = links_.send_from_ionode(ready, ionode, client, kKilobyte, &arrival);
    return arrival;
  }
  RankMessage& send_to_rank(int from, int to, SimTime start = SimTime::zero()) {
    RankMessage& message = messages_.emplace_back();
    traffic_.start(message, {.from = from,
                             .to = to,
                             .bytes = kKilobyte,
                             .start = start,
                             .number = ++number_,
                             .cost = network_.cost(from, to, kKilobyte)});
    return message;
  }
  void run() {
    while (!events_.empty()) events_.take_earliest().fire();
  }
  const network::Cards& cards() const { return traffic_.cards(); }

  machine::Machine machine_;
  network::Network network_ = *network::Network::create(machine_, 6);
  pdes::EventQueue events_;
  network::Traffic traffic_{machine_, network_, events_};
  Links links_{*machine_.storage, network_, &traffic_, events_};
  MessageTimes times_;  // of the last message
  SimTime interfaces_[6];

 private:
  static machine::Machine read(const std::string& card) {
    std::string text = kMachine;
    text.replace(text.find(kCard), kCard.size(), card);
    auto machine = machine::parse_machine(text, "test.toml");
    if (!machine) ADD_FAILURE() << machine.error().to_string();
    return machine.value();
  }

  std::deque<Arrival> arrivals_;
  std::deque<RankMessage> messages_;
  uint32_t number_ = 0;
};

TEST_F(LinksTest, AFileMessageWaitsForTheCardOfItsRank) {
  send_to_rank(0, 2);
  const Arrival& behind = send_to_ionode(rank(0), 0, us(1));
  const Arrival& beside = send_to_ionode(rank(1), 1, us(1));
  run();
  EXPECT_EQ(behind.at, kLatency + us(2 + 2));
  EXPECT_EQ(beside.at, kLatency + us(1 + 2));
}

TEST_F(LinksTest, AReplyComesThroughTheCardOfItsRank) {
  send_to_rank(2, 0);
  const Arrival& behind = send_from_ionode(0, rank(0), us(1));
  const Arrival& beside = send_from_ionode(1, rank(1), us(1));
  const Arrival& of_cache = send_from_ionode(2, {.node = 0}, us(1));  // at the card of rank 0
  run();
  EXPECT_EQ(behind.at, kLatency + us(2 + 2));
  EXPECT_EQ(beside.at, kLatency + us(1 + 2));
  EXPECT_EQ(of_cache.at, kLatency + us(2 + 2 + 2));
}

TEST_F(LinksTest, TheInterfaceOfAnIonodeTakesMessagesOfSlowCardsAtItsOwnRate) {
  const SimTime arrival = kLatency + us(2);  // each through its card
  for (const auto& [number, delay] : {std::pair{0, us(0)}, {2, us(1)}}) {
    const Arrival& sent = send_to_ionode(rank(number));
    run();
    EXPECT_EQ(sent.at, arrival);
    EXPECT_EQ(links_.receive_at_ionode(arrival, 0, times_.transfer), arrival + delay);
  }
}

TEST_F(LinksTest, WithoutSharingItHasACardOfItsOwn) {
  Links alone(*machine_.storage, network_, nullptr, events_);
  Arrival arrival;
  alone.send_to_ionode(SimTime::zero(), rank(0), 0, kKilobyte, arrival);
  run();
  EXPECT_EQ(arrival.at, kLatency + us(1));
}

// Copies of eager messages are those of a program's messages.
TEST(Links, NoProcessorCopiesMessagesOfFiles) {
  const std::vector<std::string> copying = {"network.send_copy_bandwidth=4 GB/s",
                                            "network.receive_copy_bandwidth=4 GB/s",
                                            "network.card.bandwidth=4 GB/s"};
  const machine::Machine machine = *machine::parse_machine(kMachine, "test.toml", copying);
  const network::Network network = *network::Network::create(machine, 6);
  pdes::EventQueue events;
  network::Traffic traffic(machine, network, events);
  for (network::Traffic* shared : {static_cast<network::Traffic*>(nullptr), &traffic}) {
    Links links(*machine.storage, network, shared, events);
    Arrival there, back;
    const MessageTimes times = links.send_to_ionode({}, {.node = 0}, 0, kKilobyte, there);
    links.send_from_ionode({}, 0, {.node = 1}, kKilobyte, &back);
    while (!events.empty()) events.take_earliest().fire();
    EXPECT_EQ(times.transfer, us(1));
    EXPECT_EQ(times.send_overhead + times.receive_overhead, SimTime::zero());
    EXPECT_EQ(links.departure({}, 0, 0, kKilobyte).at, SimTime::zero());
    EXPECT_EQ(there.at, kLatency + us(1));
    EXPECT_EQ(back.at, kLatency + us(1));
  }
}

TEST_F(LinksTest, AnExchangeIsAMessageAndItsReply) {
  Arrival reply;
  links_.exchange(SimTime::zero(), 0, rank(0), kKilobyte, kKilobyte, reply);
  run();
  EXPECT_EQ(reply.at, (kLatency + us(2)) * 2);
}

// All ranks of a node at one card.
class OneCardTest : public LinksTest {
 protected:
  explicit OneCardTest(const std::string& card = "bandwidth = \"500 MB/s\"") : LinksTest(card) {}
};

// The sender's own interface is busy until then.
TEST_F(OneCardTest, IsNotHeldForAMessageThatIsNotYetThere) {
  interfaces_[0] = us(50);
  const Arrival& later = send_to_ionode(rank(0));
  const Arrival& sooner = send_to_ionode(rank(1), 1);
  const RankMessage& message = send_to_rank(1, 2, us(20));
  run();
  EXPECT_EQ(sooner.at, kLatency + us(2));
  EXPECT_EQ(message.at, kLatency + us(20 + 2));
  EXPECT_EQ(later.at, kLatency + us(50 + 2));
}

TEST_F(OneCardTest, ServesMessagesInTheOrderInWhichTheyArriveNotInThatOfCalls) {
  const Arrival& later = send_from_ionode(0, {.node = 0}, us(11));
  const Arrival& first = send_from_ionode(1, {.node = 0}, us(10));
  run();
  EXPECT_EQ(first.at, us(10) + kLatency + us(2));
  EXPECT_EQ(later.at, us(10) + kLatency + us(2 + 2));
}

TEST_F(OneCardTest, IsFreeUntilTheReplyOfAnExchangeIsReady) {
  Arrival reply;
  links_.exchange(SimTime::zero(), 0, {.node = 0}, kKilobyte, kKilobyte, reply);
  const RankMessage& before = send_to_rank(0, 2, us(1));
  const RankMessage& just_before = send_to_rank(0, 2, us(3));  // the reply leaves at 4 us
  run();
  EXPECT_EQ(before.at, us(1) + kLatency + us(2));
  EXPECT_EQ(just_before.at, us(3) + kLatency + us(2));
  EXPECT_EQ(reply.at, us(3 + 2) + kLatency + us(2));
}

// The last of n messages of m bytes is there after latency + n m / card.
TEST_F(OneCardTest, IncastOfFilesAndMessagesTakesTheSumOfTheirTimes) {
  std::vector<const Arrival*> files;
  for (uint32_t ionode = 0; ionode < 4; ++ionode) {
    files.push_back(&send_from_ionode(ionode, rank(static_cast<int>(ionode) % 2)));
  }
  const RankMessage& one = send_to_rank(2, 0);
  const RankMessage& two = send_to_rank(4, 1);
  run();
  for (size_t i = 0; i < files.size(); ++i) {
    EXPECT_EQ(files[i]->at, kLatency + us(2) * static_cast<int64_t>(i + 1)) << "files first";
  }
  EXPECT_EQ(std::max(one.at, two.at), kLatency + us(6 * 2));
  EXPECT_EQ(cards().of_rank(0).receive.messages, 6u);
  EXPECT_EQ(cards().of_rank(0).receive.bytes, 6 * kKilobyte);
}

// Each message at 1 GB/s, the card sends at 4 GB/s and receives at 2.
class FastCardTest : public OneCardTest {
 protected:
  explicit FastCardTest(const std::string& more = "")
      : OneCardTest("bandwidth = \"4 GB/s\"\nreceive_bandwidth = \"2 GB/s\"\n" + more) {}
};

TEST_F(FastCardTest, AFileMessageOccupiesItForTheCardsTime) {
  const Arrival& first = send_to_ionode(rank(0));
  const Arrival& second = send_to_ionode(rank(1), 1);
  run();
  EXPECT_EQ(first.at, kLatency + us(1));
  EXPECT_EQ(second.at, kLatency + us(1)) << "its own injection takes longer than both";
  EXPECT_EQ(cards().of_rank(0).send.free, SimTime::from_ns(2 * 250));
}

TEST_F(FastCardTest, WhatArrivesOccupiesItForTheCardsTime) {
  const Arrival& first = send_from_ionode(0, rank(0));
  const Arrival& second = send_from_ionode(1, rank(1));
  const Arrival& third = send_from_ionode(2, rank(1));
  run();
  EXPECT_EQ(first.at, kLatency + us(1));
  EXPECT_EQ(second.at, kLatency + us(1)) << "its end is there only then";
  EXPECT_EQ(third.at, kLatency + SimTime::from_ns(3 * 500));
}

class MessageRateTest : public FastCardTest {
 protected:
  MessageRateTest() : FastCardTest("message_rate = [1e5]\n") {}  // 10 us for each message
};

TEST_F(MessageRateTest, LimitsFileMessages) {
  send_to_ionode(rank(0));
  const Arrival& sent = send_to_ionode(rank(1), 1);
  send_from_ionode(0, rank(0));
  const Arrival& received = send_from_ionode(1, rank(1));
  run();
  // The card needs this time and that of the bytes for the message before.
  EXPECT_EQ(sent.at, us(10) + SimTime::from_ns(250) + kLatency + SimTime::from_ns(250));
  EXPECT_EQ(received.at, kLatency + us(10) + SimTime::from_ns(500) + SimTime::from_ns(500));
}

}  // namespace
}  // namespace sesame::storage
