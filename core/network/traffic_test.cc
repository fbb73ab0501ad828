// Messages that share cards and the memory of nodes, against closed forms (docs/models/sharing.md).
#include "core/network/traffic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace sesame::network {
namespace {

constexpr uint64_t kMegabyte = 1'000'000;  // 100 us at 10 GB/s

// 4 nodes of 16 cores. Between nodes 2 us and 10 GB/s, inside a node 1 us and 5 GB/s.
const char* const kMachine = R"(name = "test"
nodes = 4
[node]
cores = 16
[node.network]
latency = "1 us"
bandwidth = "5 GB/s"
[network]
latency = "2 us"
bandwidth = "10 GB/s"
sharing = "interface"
[topology]
kind = "crossbar"
)";

struct Sent {
  int from;
  int to;
  uint64_t bytes;
  SimTime start = SimTime::zero();
  uint32_t number = 0;  // 0: in the order of calls
};

class Recorded final : public Transit {
 public:
  SimTime left;
  SimTime arrived = SimTime::never();

 private:
  void leaves(SimTime end) override { left = end; }
  void arrives(SimTime time) override { arrived = time; }
};

// A run of a few messages on the machine, in which every rank sends what it is given.
class Simulated {
 public:
  explicit Simulated(int ranks, std::vector<std::string> overrides = {},
                     const char* text = kMachine)
      : machine_(*machine::parse_machine(text, "test.toml", overrides)),
        network_(*Network::create(machine_, ranks)),
        traffic_(machine_, network_, events_) {}

  void send(const std::vector<Sent>& messages) {
    for (const Sent& message : messages) {
      transits_.push_back(std::make_unique<Recorded>());
      const MessageCost cost = network_.cost(message.from, message.to, message.bytes);
      traffic_.start(*transits_.back(), {.from = message.from,
                                         .to = message.to,
                                         .bytes = message.bytes,
                                         .start = message.start,
                                         .number = message.number != 0 ? message.number : ++number_,
                                         .cost = cost});
    }
    while (!events_.empty()) events_.take_earliest().fire();
  }
  std::vector<SimTime> arrivals() const {
    std::vector<SimTime> times;
    for (const auto& transit : transits_) times.push_back(transit->arrived);
    return times;
  }
  SimTime last() const { return std::ranges::max(arrivals()); }
  SimTime left(size_t message) const { return transits_[message]->left; }
  const Network& network() const { return network_; }
  Traffic& traffic() { return traffic_; }

 private:
  machine::Machine machine_;
  pdes::EventQueue events_;
  Network network_;
  Traffic traffic_;
  uint32_t number_ = 0;
  std::vector<std::unique_ptr<Recorded>> transits_;
};

SimTime unshared(const Simulated& run, const Sent& message) {
  const MessageCost cost = run.network().cost(message.from, message.to, message.bytes);
  return message.start + cost.latency + cost.transfer;
}

TEST(Traffic, AMessageAloneTakesAsLongAsWithoutSharing) {
  for (const Sent message : {Sent{0, 20, 0}, Sent{0, 20, 8}, Sent{5, 63, kMegabyte}}) {
    Simulated run(64);
    run.send({message});
    EXPECT_EQ(run.last(), unshared(run, message)) << message.bytes;
  }
}

TEST(Traffic, ASlowCardLetsItsMessagesThroughAtItsBandwidth) {
  Simulated run(64, {"network.card.bandwidth=4 GB/s"});
  run.send({{0, 20, kMegabyte}});
  EXPECT_EQ(run.last(), SimTime::from_ns(2'000 + 250'000));
  EXPECT_EQ(run.left(0), SimTime::from_ns(250'000));
}

TEST(Traffic, RanksOfANodeSendOneAfterTheOther) {
  Simulated run(64);
  std::vector<Sent> messages;
  for (int rank = 0; rank < 16; ++rank) messages.push_back({rank, 16 + rank, kMegabyte});
  run.send(messages);
  EXPECT_EQ(run.last(), SimTime::from_ns(2'000 + 16 * 100'000));
}

TEST(Traffic, TwoCardsHalveTheTime) {
  Simulated run(64, {"network.card.number=2"});
  std::vector<Sent> messages;
  for (int rank = 0; rank < 16; ++rank) messages.push_back({rank, 16 + rank, kMegabyte});
  run.send(messages);
  EXPECT_EQ(run.last(), SimTime::from_ns(2'000 + 8 * 100'000));
}

TEST(Traffic, IncastWaitsAtTheReceiver) {
  Simulated run(64);
  std::vector<Sent> messages;
  for (int node = 1; node < 4; ++node) messages.push_back({16 * node, 0, kMegabyte});
  run.send(messages);
  EXPECT_EQ(run.last(), SimTime::from_ns(2'000 + 3 * 100'000));
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(run.left(i), SimTime::from_ns(100'000));
}

TEST(Traffic, ARingOfNodesSharesNothing) {
  Simulated run(64);
  std::vector<Sent> messages;
  for (int node = 0; node < 4; ++node) {
    messages.push_back({16 * node, 16 * ((node + 1) % 4), kMegabyte});
  }
  run.send(messages);
  for (const SimTime arrival : run.arrivals()) EXPECT_EQ(arrival, SimTime::from_ns(102'000));
}

TEST(Traffic, SmallMessagesFollowAtTheMessageRate) {
  Simulated run(64, {"network.card.message_rate=[1e7]"});
  std::vector<Sent> messages;
  for (int rank = 0; rank < 16; ++rank) messages.push_back({rank, 16 + rank, 0});
  run.send(messages);
  EXPECT_EQ(run.arrivals().front(), SimTime::from_ns(2'000));  // the rate is no latency
  EXPECT_EQ(run.last(), SimTime::from_ns(2'000 + 15 * 100));
  const Card& sender = run.traffic().cards().of_rank(0);
  EXPECT_EQ(sender.send.busy, SimTime::from_ns(16 * 100)) << "though they have no bytes";
  EXPECT_EQ(run.traffic().cards().of_rank(16).receive.busy, SimTime::from_ns(16 * 100));
}

TEST(Traffic, TheMessageRateAddsToTheTimeOfBytes) {
  Simulated run(64, {"network.card.message_rate=[1e7]"});
  std::vector<Sent> messages;
  for (int rank = 0; rank < 16; ++rank) messages.push_back({rank, 16 + rank, 10'000});
  run.send(messages);
  EXPECT_EQ(run.arrivals().front(), SimTime::from_ns(2'000 + 1'000));
  EXPECT_EQ(run.last(), SimTime::from_ns(2'000 + 1'000 + 15 * (1'000 + 100)));
}

TEST(Traffic, CopiesInsideANodeShareItsMemory) {
  Simulated run(64, {"node.network.total_bandwidth=16 GB/s"});
  std::vector<Sent> messages;
  for (int rank = 0; rank < 16; rank += 2) messages.push_back({rank, rank + 1, kMegabyte});
  run.send(messages);
  // Three at a time could run at 5 GB/s; eight together at 16.
  EXPECT_EQ(run.last(), SimTime::from_ns(1'000 + 500'000));

  Simulated alone(64, {"node.network.total_bandwidth=16 GB/s"});
  alone.send({{0, 1, kMegabyte}});
  EXPECT_EQ(alone.last(), SimTime::from_ns(1'000 + 200'000));
  EXPECT_FALSE(Simulated(64).traffic().is_shared(0, 1));  // without the key they share nothing
}

TEST(Traffic, ComputingCoresSlowTheCard) {
  Simulated run(64, {"network.card.slowdown=[1, 2]"});
  run.traffic().set_busy_cores([](void*, int rank, SimTime) { return rank < 3; }, nullptr);
  run.send({{3, 20, kMegabyte}, {20, 40, kMegabyte}});
  EXPECT_EQ(run.arrivals()[0], SimTime::from_ns(2'000 + 200'000));
  EXPECT_EQ(run.arrivals()[1], SimTime::from_ns(2'000 + 100'000));
}

// Random messages, started in any order.
TEST(Traffic, TheOrderOfCallsDoesNotMatter) {
  std::mt19937 random(7);
  std::vector<Sent> messages;
  for (int i = 0; i < 200; ++i) {
    const int from = static_cast<int>(random() % 64);
    const int to = static_cast<int>((static_cast<unsigned>(from) + 16 + random() % 32) % 64);
    messages.push_back({from, to, random() % kMegabyte, SimTime::from_ns(random() % 1'000'000)});
  }
  Simulated run(64, {"network.card.message_rate=[1e6]"});
  run.send(messages);
  std::vector<SimTime> expected = run.arrivals();
  std::ranges::sort(expected);
  std::ranges::shuffle(messages, random);
  Simulated shuffled(64, {"network.card.message_rate=[1e6]"});
  shuffled.send(messages);
  std::vector<SimTime> got = shuffled.arrivals();
  std::ranges::sort(got);
  EXPECT_EQ(got, expected);
}

// A machine of one rank a node with links of 10 GB/s and this topology.
const char* const kShortHops = "hop_latency = \"100 ns\"\n";
// The data of a rendezvous has not so much latency for each of its hops.
const char* const kLongHops = "hop_latency = \"1 us\"\neager_limit = \"30 kB\"\n";

std::string machine_with(const std::string& topology, const std::string& sharing = "links",
                         const std::string& hops = kShortHops) {
  return "name = \"test\"\n[network]\nlatency = \"2 us\"\nbandwidth = \"10 GB/s\"\n" + hops +
         "sharing = \"" + sharing + "\"\n[topology]\n" + topology;
}

Simulated run_on(const std::string& topology, int ranks, std::vector<std::string> overrides = {}) {
  return Simulated(ranks, std::move(overrides), machine_with(topology).c_str());
}

void expect_near(SimTime got, double expected_s) {
  EXPECT_NEAR(got.seconds() / expected_s, 1, 0.02);
}

const char* const kGrid = "kind = \"torus\"\ndims = [4, 5]";
const char* const kTree = "kind = \"fat_tree\"\narity = [4, 5]\nuplinks = [2]";
const std::string kHyperX = "kind = \"hyperx\"\ndims = [2, 5]\nnodes_per_router = 2\n";
const std::string kDragonfly =
    "kind = \"dragonfly\"\ngroups = 5\nrouters = 2\nnodes_per_router = 2\n";

TEST(Links, AMessageAloneIsNeverFasterThanWithLessSharing) {
  for (const std::string& topology :
       {std::string(kGrid), std::string(kTree), kHyperX, kHyperX + "routing = \"valiant\"\n",
        kDragonfly, kDragonfly + "routing = \"valiant\"\n", kDragonfly + "routing = \"adaptive\"\n",
        kDragonfly + "global_links = 2\n",
        kDragonfly + "routing = \"adaptive\"\nglobal_links = 3\n"}) {
    const bool is_minimal = !topology.contains("valiant");
    for (int to = 1; to < 20; ++to) {
      for (const uint64_t bytes : {uint64_t{0}, uint64_t{8}, kMegabyte}) {
        const Sent message{0, to, bytes};
        Simulated links = run_on(topology, 20);
        links.send({message});
        Simulated interface = run_on(topology, 20, {"network.sharing=interface"});
        interface.send({message});
        EXPECT_EQ(interface.last(), unshared(interface, message));
        EXPECT_GE(links.last(), interface.last()) << topology << to;
        if (is_minimal) {
          EXPECT_EQ(links.last(), interface.last()) << topology << to;
        }
      }
    }
  }
}

TEST(Links, AShiftOnARingSharesItsLinks) {
  for (const int distance : {1, 2, 3}) {
    Simulated run = run_on("kind = \"torus\"\ndims = [8]", 8);
    std::vector<Sent> messages;
    for (int node = 0; node < 8; ++node) {
      messages.push_back({node, (node + distance) % 8, kMegabyte});
    }
    run.send(messages);
    expect_near(run.last(), 2e-6 + distance * 100e-6);
  }
}

TEST(Links, AllPairsShareTheBisection) {
  Simulated run = run_on("kind = \"mesh\"\ndims = [8]", 8);
  std::vector<Sent> messages;
  for (int i = 0; i < 4; ++i) {
    for (int node = 0; node < 4; ++node) messages.push_back({node, 4 + (node + i) % 4, kMegabyte});
  }
  run.send(messages);
  expect_near(run.last(), 2e-6 + 16 * 100e-6);
}

TEST(Links, APermutationOnAFatTreeWaitsOnlyForOversubscribedUplinks) {
  for (const auto& [uplinks, times] : {std::pair{8, 1}, {4, 2}, {2, 4}, {1, 8}}) {
    Simulated run = run_on(
        "kind = \"fat_tree\"\narity = [8, 8]\nuplinks = [" + std::to_string(uplinks) + "]", 64);
    std::vector<Sent> messages;
    for (int node = 0; node < 64; ++node) messages.push_back({node, (node + 8) % 64, kMegabyte});
    run.send(messages);
    expect_near(run.last(), 2.2e-6 + times * 100e-6);
  }
}

// The rate at which the four nodes of each group or router of `topology` send to the next one, of
// that of a link with 10 GB/s.
double rate_to_the_next(const std::string& topology, const std::vector<std::string>& links) {
  constexpr int kEach = 4000;
  std::vector<std::string> settings = {"network.card.bandwidth=40 GB/s",
                                       "network.bandwidth=40 GB/s"};
  settings.insert(settings.end(), links.begin(), links.end());
  Simulated run = run_on(topology, 20, settings);
  std::vector<Sent> messages;
  for (int i = 0; i < kEach; ++i) {
    for (int node = 0; node < 20; ++node) messages.push_back({node, (node + 4) % 20, 10'000});
  }
  run.send(messages);
  return 4 * kEach * 1e-6 / run.last().seconds();
}

// Minimal routes have one link for all nodes of a group, Valiant's three times two.
TEST(Links, AdversarialTrafficOnADragonfly) {
  const auto rate = [](const std::string& routing) {
    return rate_to_the_next(
        kDragonfly + "routing = \"" + routing + "\"",
        {"network.link.bandwidth=20 GB/s", "network.link.global_bandwidth=10 GB/s"});
  };
  EXPECT_NEAR(rate("minimal"), 1, 0.02);
  EXPECT_NEAR(rate("valiant"), 3. / 2, 0.02 * 3 / 2);
  EXPECT_GT(rate("adaptive"), rate("valiant"));
}

// Minimal routes have one link for all nodes of a router. Valiant's load every link of the five
// routers alike, with 2 / 5 of that.
TEST(Links, AdversarialTrafficOnAHyperX) {
  const auto rate = [](const std::string& routing) {
    return rate_to_the_next(
        "kind = \"hyperx\"\ndims = [5]\nnodes_per_router = 4\nrouting = \"" + routing + "\"",
        {"network.link.bandwidth=10 GB/s"});
  };
  EXPECT_NEAR(rate("minimal"), 1, 0.02);
  EXPECT_NEAR(rate("valiant"), 5. / 2, 0.02 * 5 / 2);
}

// All of a group send to the next group: each router over its own link, whatever the other links
// inside the group carry.
TEST(Links, ParallelLinksOfADragonflyShareItsTraffic) {
  for (const int links : {1, 2}) {
    Simulated run = run_on(kDragonfly + "global_links = " + std::to_string(links), 20);
    std::vector<Sent> messages;
    for (int node = 0; node < 20; ++node) messages.push_back({node, (node + 4) % 20, kMegabyte});
    run.send(messages);
    expect_near(run.last(), 2.2e-6 + 4 / links * 100e-6);
  }
}

TEST(Links, UniformTrafficOnADragonflyTakesMinimalRoutesIfAdaptive) {
  const auto time = [](const std::string& routing) {
    Simulated run = run_on(kDragonfly + "routing = \"" + routing + "\"", 20);
    std::vector<Sent> messages;
    for (int distance = 1; distance < 20; ++distance) {
      for (int node = 0; node < 20; ++node) {
        messages.push_back({node, (node + distance) % 20, 10'000});
      }
    }
    run.send(messages);
    return run.last();
  };
  EXPECT_LT(time("adaptive"), time("valiant"));
}

TEST(Links, WhatTheyCarryIsCounted) {
  Simulated run = run_on("kind = \"mesh\"\ndims = [3]", 3);
  run.traffic().keep_history();
  run.send({{0, 2, kMegabyte}, {1, 2, kMegabyte}});
  const Link& last = run.traffic().fabric()->links()[2];  // of node 1, forward
  EXPECT_EQ(last.bytes, 2 * kMegabyte);
  EXPECT_EQ(last.messages, 2u);
  EXPECT_EQ(last.busy, SimTime::from_ns(200'000));
  ASSERT_NE(last.history, nullptr);
  SimTime busy;
  for (const SimTime slice : last.history->busy.busy()) busy += slice;
  EXPECT_EQ(busy, last.busy);
  EXPECT_EQ(last.history->pairs[0].from + last.history->pairs[1].from, 1);
  EXPECT_EQ(last.history->pairs[0].bytes, kMegabyte);
  EXPECT_EQ(run.traffic().fabric()->links()[3].history, nullptr);  // backward
}

// With more pairs than are counted.
TEST(Links, NoPairHasMoreBytesOfItsOwnThanItSent) {
  ServerHistory history;
  for (int round = 0; round < 10; ++round) {
    for (int from = 0; from < 20; ++from) {
      history.add(SimTime::zero(), SimTime::zero(), from, 20, from == 7 ? 1000 : 100);
    }
  }
  const auto largest = std::ranges::find(history.pairs, 7, &ServerHistory::Pair::from);
  ASSERT_NE(largest, history.pairs.end());
  EXPECT_GE(largest->own_bytes(), 9000u);
  for (const ServerHistory::Pair& pair : history.pairs) {
    EXPECT_LE(pair.own_bytes(), pair.from == 7 ? 10'000u : 1000u);
  }
}

// Adaptive routes depend on what is on its way when a message enters the network, not on the order
// in which the simulator starts the messages.
TEST(Links, TheOrderOfCallsDoesNotMatter) {
  for (const std::string topology :
       {kDragonfly, kDragonfly + "routing = \"valiant\"", kDragonfly + "routing = \"adaptive\"",
        kHyperX, kHyperX + "routing = \"valiant\""}) {
    std::mt19937 random(11);
    std::vector<Sent> messages;
    for (int i = 0; i < 500; ++i) {
      const int from = static_cast<int>(random() % 20);
      const int to = static_cast<int>((static_cast<unsigned>(from) + 1 + random() % 19) % 20);
      messages.push_back({from, to, random() % kMegabyte, SimTime::from_ns(random() % 2'000'000),
                          static_cast<uint32_t>(i + 1)});
    }
    const auto arrivals = [&] {
      Simulated run = run_on(topology, 20);
      run.send(messages);
      std::vector<SimTime> times = run.arrivals();
      std::ranges::sort(times);
      return times;
    };
    const std::vector<SimTime> expected = arrivals();
    std::ranges::reverse(messages);
    EXPECT_EQ(arrivals(), expected) << topology;
  }
}

// The same run divided among processes, which fire events up to a common bound in any order.
class Divided {
 public:
  Divided(const std::string& machine, int ranks, int processes)
      : machine_(*machine::parse_machine(machine, "test.toml", {})),
        network_(*Network::create(machine_, ranks)),
        processes_(static_cast<size_t>(processes)) {
    pdes::EventQueue unused;
    const int together = Traffic(machine_, network_, unused).nodes_choosing_together();
    for (int node = 0; node < machine_.nodes; ++node)
      process_of_node_.push_back(node / together * together * processes / machine_.nodes);
    for (int i = 0; i < processes; ++i) {
      Process& process = processes_[static_cast<size_t>(i)];
      process.traffic = std::make_unique<Traffic>(machine_, network_, process.events);
      process.traffic->divide_among_processes(
          process_of_node_, i, [this](int process, const Walk& walk) {
            ++walks_;
            EXPECT_GE(walk.passage.head(),
                      bound_);  // as what the other process has not seen yet must
            processes_[static_cast<size_t>(process)].traffic->take_walk(walk);
          });
    }
  }

  std::vector<SimTime> send(const std::vector<Sent>& messages) {
    std::vector<SimTime> arrivals(messages.size());
    uint32_t number = 0;
    for (const Sent& message : messages) {
      auto* transit = new Shipped(*this, message, &arrivals[number]);
      traffic_at(message.from)
          .start(*transit, {.from = message.from,
                            .to = message.to,
                            .bytes = message.bytes,
                            .start = message.start,
                            .number = ++number,
                            .cost = network_.cost(message.from, message.to, message.bytes)});
    }
    while (fire_round()) {
    }
    return arrivals;
  }
  int walks() const { return walks_; }

 private:
  struct Process {
    pdes::EventQueue events;
    std::unique_ptr<Traffic> traffic;
  };

  class Shipped final : public Transit {
   public:
    Shipped(Divided& run, const Sent& message, SimTime* arrival)
        : run_(run), message_(message), arrival_(arrival) {}

   private:
    bool hand_over(const Passage& passage) override {
      Traffic& target = run_.traffic_at(message_.to);
      if (is_there_ || &target == &run_.traffic_at(message_.from)) return false;
      EXPECT_GE(passage.head(), run_.bound_);
      is_there_ = true;
      target.continue_at_receiver(*this, message_.from, message_.to, message_.bytes, passage);
      return true;
    }
    void arrives(SimTime time) override {
      *arrival_ = time;
      delete this;
    }

    Divided& run_;
    const Sent message_;
    SimTime* const arrival_;
    bool is_there_ = false;
  };

  Traffic& traffic_at(int rank) {
    const auto node = static_cast<size_t>(network_.node_of(rank));
    return *processes_[static_cast<size_t>(process_of_node_[node])].traffic;
  }
  bool fire_round() {
    SimTime first = SimTime::never();
    for (const Process& process : processes_) first = std::min(first, process.events.earliest());
    if (first == SimTime::never()) return false;
    bound_ = first + processes_[0].traffic->least_step(network_.least_latency());
    for (Process& process : processes_)
      while (process.events.earliest() < bound_) process.events.take_earliest().fire();
    return true;
  }

  machine::Machine machine_;
  Network network_;
  std::vector<int> process_of_node_;
  std::vector<Process> processes_;
  SimTime bound_;  // of the round's events
  int walks_ = 0;
};

TEST(Links, ProcessesThatDivideThemGiveTheSameArrivals) {
  std::mt19937 random(1);
  std::vector<Sent> messages;
  for (uint32_t i = 0; i < 3000; ++i) {
    const int from = static_cast<int>(random() % 20);
    const int to = (from + 1 + static_cast<int>(random() % 19)) % 20;
    messages.push_back({from, to, random() % 3 * 20'000, SimTime::from_ns(random() % 400 * 100)});
  }
  for (const std::string& topology :
       {std::string(kGrid), std::string(kTree), kHyperX, kHyperX + "routing = \"valiant\"\n",
        kDragonfly, kDragonfly + "routing = \"valiant\"\nglobal_links = 3\n",
        kDragonfly + "routing = \"adaptive\"\n",
        kDragonfly + "routing = \"adaptive\"\nglobal_links = 3\n"}) {
    for (const char* const hops : {kShortHops, kLongHops}) {
      const std::string machine = machine_with(topology, "links", hops);
      Simulated alone(20, {}, machine.c_str());
      alone.send(messages);
      for (const int processes : {2, 3, 4}) {
        Divided run(machine, 20, processes);
        EXPECT_EQ(run.send(messages), alone.arrivals()) << machine << processes;
        EXPECT_GT(run.walks(), 100);
      }
    }
  }
}

}  // namespace
}  // namespace sesame::network
