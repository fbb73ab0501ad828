// Random programs of events give the same result on one executive and on several workers under
// every protocol. Workers are threads here.
#include "core/pdes/asynchronous.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "core/base/mixing.h"
#include "core/pdes/quantum.h"

namespace sesame::pdes {
namespace {

constexpr int64_t kLookAheadPs = 1'000'000;
constexpr int kNodes = 12;

struct Message {
  int32_t from = 0;
  int32_t to = 0;
  uint32_t number = 0;  // of the sender
  int64_t time_ps = 0;
  uint64_t value = 0;
  auto operator<=>(const Message&) const = default;
};

// Nodes that send messages to themselves and each other; a message is an event at its receiver.
class Program {
 public:
  using Send = std::function<void(const Message&)>;

  // `quiet_ps`: a time before which no node sends to another one.
  Program(uint64_t seed, int64_t quiet_ps, Executive& executive, Send send)
      : seed_(seed), quiet_ps_(quiet_ps), executive_(executive), send_(std::move(send)) {}

  void start(int node) {
    deliver({node, node, number_of(node), steps(1, 40, node), static_cast<uint64_t>(node)});
  }
  void deliver(const Message& message) {
    auto* event = new Arrival(*this, message);
    const uint32_t number = static_cast<uint32_t>(message.from) << 16 | message.number;
    executive_.events().schedule_once(
        *event, SimTime::from_ps(message.time_ps),
        {EventClass::kMatch, static_cast<uint32_t>(message.to), number});
  }
  const std::vector<Message>& log(int node) const { return nodes_[node].log; }

 private:
  struct Arrival final : ConditionalEvent {
    Arrival(Program& in, const Message& received) : program(in), message(received) {}
    void fire() override {
      program.receive(message);
      delete this;
    }
    Program& program;
    Message message;
  };
  struct Node {
    uint64_t state = 0;
    uint32_t sent = 0;
    std::vector<Message> log;
  };

  // A duration from `least` quarters of the look-ahead up to `most`, so that many times are equal.
  int64_t steps(int64_t least, int64_t most, uint64_t salt) const {
    const uint64_t random = mix64({seed_, salt});
    return (least + static_cast<int64_t>(random % static_cast<uint64_t>(most - least + 1))) *
           (kLookAheadPs / 4);
  }
  uint32_t number_of(int node) { return nodes_[node].sent++; }

  void receive(const Message& message) {
    Node& node = nodes_[message.to];
    node.log.push_back(message);
    node.state = mix64({seed_, node.state, message.value, static_cast<uint64_t>(message.time_ps),
                        static_cast<uint64_t>(message.from)});
    const uint64_t random = node.state;
    if (random % 16 == 0) std::this_thread::yield();
    const int follow_ups = random >> 8 & 7 ? 1 : static_cast<int>(random >> 16 & 1) * 2;
    for (int i = 0; i < follow_ups; ++i)
      follow_up(message, mix64(random + static_cast<uint64_t>(i)));
  }

  void follow_up(const Message& cause, uint64_t random) {
    if (cause.time_ps > 200 * kLookAheadPs) return;
    const bool is_remote = cause.time_ps >= quiet_ps_ && random % 4 == 0;
    Message next{cause.to, cause.to, number_of(cause.to), cause.time_ps, random};
    if (is_remote) next.to = static_cast<int32_t>(random >> 8) & 0x7fff;
    next.to %= kNodes;
    next.time_ps += next.to == cause.to ? steps(1, 60, random) : steps(4, 20, random);
    next.to == cause.to ? deliver(next) : send_(next);
  }

  uint64_t seed_;
  int64_t quiet_ps_;
  Executive& executive_;
  Send send_;
  Node nodes_[kNodes];
};

using Logs = std::vector<std::vector<Message>>;

Logs run_sequentially(uint64_t seed, int64_t quiet_ps) {
  Executive executive;
  Program program(seed, quiet_ps, executive,
                  [&](const Message& message) { program.deliver(message); });
  for (int node = 0; node < kNodes; ++node) program.start(node);
  executive.run();
  Logs logs;
  for (int node = 0; node < kNodes; ++node) logs.push_back(program.log(node));
  return logs;
}

enum class Protocol : uint8_t { kQuantum, kNull, kConditional, kBoth };

std::unique_ptr<Synchronizer> make_protocol(Protocol protocol, Worker& worker, Executive& executive,
                                            int64_t quiet_ps, Worker::Take take) {
  const SimTime look_ahead = SimTime::from_ps(kLookAheadPs);
  if (protocol == Protocol::kQuantum)
    return std::make_unique<QuantumProtocol>(worker, executive, look_ahead, std::move(take));
  const Announcements announcements{.null_messages = protocol != Protocol::kConditional,
                                    .conditional_events = protocol != Protocol::kNull};
  auto made = std::make_unique<AsynchronousProtocol>(worker, executive, announcements, look_ahead,
                                                     std::move(take));
  if (quiet_ps > 0) made->set_next_send([quiet_ps] { return SimTime::from_ps(quiet_ps); });
  return made;
}

// Nodes belong to workers in turn.
void work(SharedMemory& memory, int number, Protocol protocol, uint64_t seed, int64_t quiet_ps,
          Logs& logs) {
  Worker worker(memory, number);
  Executive executive;
  const auto worker_of = [&](int node) { return node % memory.workers(); };
  Program program(seed, quiet_ps, executive, [&](const Message& message) {
    if (worker_of(message.to) == number) return program.deliver(message);
    worker.send(worker_of(message.to), {reinterpret_cast<const char*>(&message), sizeof message},
                {});
  });
  const auto synchronizer =
      make_protocol(protocol, worker, executive, quiet_ps, [&](std::span<const char> frame) {
        Message message;
        ASSERT_EQ(frame.size(), sizeof message);
        std::memcpy(&message, frame.data(), sizeof message);
        program.deliver(message);
      });
  executive.set_synchronizer(synchronizer.get());
  for (int node = number; node < kNodes; node += memory.workers()) program.start(node);
  executive.run();
  for (int node = number; node < kNodes; node += memory.workers())
    logs[static_cast<size_t>(node)] = program.log(node);
}

Logs run_with(SharedMemory& memory, Protocol protocol, uint64_t seed, int64_t quiet_ps) {
  Logs logs(kNodes);
  std::vector<std::thread> threads;
  for (int i = 0; i < memory.workers(); ++i)
    threads.emplace_back([&, i] { work(memory, i, protocol, seed, quiet_ps, logs); });
  for (std::thread& thread : threads) thread.join();
  return logs;
}

class EveryProtocol : public ::testing::TestWithParam<std::tuple<Protocol, int>> {};

TEST_P(EveryProtocol, GivesTheResultOfOneExecutive) {
  const auto [protocol, workers] = GetParam();
  size_t events = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const int64_t quiet_ps = seed % 2 == 0 ? 0 : static_cast<int64_t>(seed) * 7 * kLookAheadPs;
    const auto memory = SharedMemory::create(workers);
    ASSERT_TRUE(memory.has_value());
    const Logs expected = run_sequentially(seed, quiet_ps);
    EXPECT_EQ(run_with(**memory, protocol, seed, quiet_ps), expected) << "seed " << seed;
    for (const auto& log : expected) events += log.size();
  }
  EXPECT_GT(events, 5'000u);
}

INSTANTIATE_TEST_SUITE_P(OfTwoToFourWorkers, EveryProtocol,
                         ::testing::Combine(::testing::Values(Protocol::kQuantum, Protocol::kNull,
                                                              Protocol::kConditional,
                                                              Protocol::kBoth),
                                            ::testing::Values(2, 3, 4)));

// One event, 100 look-aheads from the begin, on the first of two workers.
struct Counts {
  uint64_t first;
  uint64_t second;
  uint64_t rounds;
};

Counts counts_until_one_event(Protocol protocol, SimTime second_sends) {
  auto memory = SharedMemory::create(2);
  EXPECT_TRUE(memory.has_value());
  struct Once final : ConditionalEvent {
    void fire() override { fired = true; }
    bool fired = false;
  };
  Once event;
  const auto run = [&](int number) {
    Worker worker(**memory, number);
    Executive executive;
    const int64_t quiet_ps = number == 1 ? second_sends.ps() : 0;
    const auto synchronizer =
        make_protocol(protocol, worker, executive, quiet_ps, [](std::span<const char>) {});
    executive.set_synchronizer(synchronizer.get());
    if (number == 0) executive.events().schedule(event, SimTime::from_ps(100 * kLookAheadPs));
    executive.run();
  };
  std::thread second(run, 1);
  run(0);
  second.join();
  EXPECT_TRUE(event.fired);
  const auto& workers = (*memory)->state().workers;
  return {workers[0].null_messages, workers[1].null_messages, (*memory)->state().round};
}

TEST(NullMessages, AdvanceByTheLookAheadEachWhileNothingHappens) {
  const Counts counts = counts_until_one_event(Protocol::kNull, SimTime::zero());
  EXPECT_NEAR(static_cast<double>(counts.first), 50, 3);
  EXPECT_NEAR(static_cast<double>(counts.second), 50, 3);
}

TEST(NullMessages, AreFewWhereTheNextSendIsKnown) {
  const Counts counts =
      counts_until_one_event(Protocol::kNull, SimTime::from_ps(100 * kLookAheadPs));
  EXPECT_LE(counts.first + counts.second, 8u);
}

TEST(ConditionalEvents, NeedOneRoundForAnEventFarAhead) {
  const Counts counts = counts_until_one_event(Protocol::kConditional, SimTime::zero());
  EXPECT_EQ(counts.first + counts.second, 0u);
  EXPECT_EQ(counts.rounds, 2u);  // the second time there is nothing left to do
}

}  // namespace
}  // namespace sesame::pdes
