// Workers on hosts that are threads here, with a block of shared memory each, connected by socket
// pairs.
#include "core/pdes/bridge.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace sesame::pdes {
namespace {

constexpr uint64_t kSmallRingBytes = 1 << 16;
constexpr SimTime kQuantum = SimTime::from_ps(100);

// A host with its workers, as the threads of the tests use it.
struct TestHost {
  TestHost() = default;
  TestHost(TestHost&&) = default;
  ~TestHost() {
    for (const int descriptor : descriptors) close(descriptor);
  }

  std::vector<int> descriptors;
  std::unique_ptr<SharedMemory> memory;
  std::unique_ptr<Bridge> bridge;
};

Result<> ignore(size_t, const BridgeMessage&, std::span<const char>) { return {}; }

// Hosts with so many workers each; the first one is connected to all others.
std::vector<TestHost> connected_hosts(const std::vector<int>& counts) {
  int workers = 0;
  for (const int count : counts) workers += count;
  std::vector<TestHost> hosts(counts.size());
  std::vector<Bridge::Peer> peers;
  int first = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    hosts[i].memory = SharedMemory::create(workers, kSmallRingBytes).value();
    hosts[i].memory->set_here(first, counts[i]);
    if (i > 0) {
      int ends[2];
      EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
      hosts[0].descriptors.push_back(ends[0]);
      hosts[i].descriptors.push_back(ends[1]);
      peers.push_back({"host " + std::to_string(i), ends[0], first, counts[i]});
      hosts[i].bridge = std::make_unique<Bridge>(
          *hosts[i].memory, std::vector<Bridge::Peer>{{"host 0", ends[1], 0, 0}}, false, kQuantum,
          ignore);
    }
    first += counts[i];
  }
  hosts[0].bridge =
      std::make_unique<Bridge>(*hosts[0].memory, std::move(peers), true, kQuantum, ignore);
  return hosts;
}

// Runs each host's bridge in a thread until the object ends.
class Running {
 public:
  explicit Running(std::vector<TestHost>& hosts) {
    for (TestHost& host : hosts)
      threads_.emplace_back([this, &host] {
        while (!ended_)
          if (!host.bridge->step().value()) host.bridge->pause();
      });
  }
  ~Running() {
    ended_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  std::atomic<bool> ended_ = false;
  std::vector<std::thread> threads_;
};

// The next frames of the worker.
std::vector<std::string> await_frames(Worker& worker) {
  std::vector<std::string> frames;
  worker.wait_until([&] {
    return worker.take_frames(
        [&](std::span<const char> frame) { frames.emplace_back(frame.begin(), frame.end()); });
  });
  return frames;
}

TEST(Bridge, FramesLargerThanARingArriveOnTheOtherHost) {
  auto hosts = connected_hosts({1, 1});
  const Running running(hosts);
  Worker a(*hosts[0].memory, 0), b(*hosts[1].memory, 1);
  std::mt19937_64 random(1);
  std::string sent, got;
  std::thread sender([&] {
    for (int i = 0; i < 60; ++i) {
      const std::string frame(random() % (3 * kSmallRingBytes), static_cast<char>('a' + i % 26));
      sent += frame + "|";
      a.send(1, frame, {});
    }
  });
  for (int count = 0; count < 60;)
    for (const std::string& frame : await_frames(b)) {
      got += frame + "|";
      ++count;
    }
  sender.join();
  EXPECT_EQ(got, sent);
}

// Worker 0 sends x to 2, then y to 1, which answers with z to 2: z must not arrive before x.
void check_causes(const std::vector<int>& counts, const std::vector<int>& host_of) {
  auto hosts = connected_hosts(counts);
  const Running running(hosts);
  const auto memory = [&](int worker) -> SharedMemory& {
    return *hosts[static_cast<size_t>(host_of[static_cast<size_t>(worker)])].memory;
  };
  Worker a(memory(0), 0), b(memory(1), 1), c(memory(2), 2);
  constexpr int kTimes = 300;
  const std::string large(1000, 'x');
  std::thread first([&] {
    for (int i = 0; i < kTimes; ++i) {
      a.send(2, large, {});
      a.send(1, std::string("y"), {});
    }
  });
  std::thread second([&] {
    for (int count = 0; count < kTimes;)
      for ([[maybe_unused]] const auto& frame : await_frames(b)) {
        b.send(2, std::string("z"), {});
        ++count;
      }
  });
  int causes = 0, answers = 0;
  while (answers < kTimes) {
    // In any order within one taking, which is complete (Worker::take_frames()).
    for (const std::string& frame : await_frames(c)) ++(frame == "z" ? answers : causes);
    EXPECT_LE(answers, causes);
  }
  first.join();
  second.join();
  EXPECT_EQ(causes, kTimes);
}

TEST(Bridge, AFrameArrivesAfterWhatItsCauseSentBefore) {
  check_causes({2, 1}, {0, 0, 1});
  check_causes({1, 2}, {0, 1, 1});
  check_causes({1, 1, 1}, {0, 1, 2});
}

// What has been sent to the end of a connection, as the numbers of its frames.
std::vector<uint64_t> numbers_sent_to(int descriptor) {
  std::vector<uint64_t> numbers;
  struct {
    BridgeMessage message;
    FramePrefix prefix;
  } head;
  while (recv(descriptor, &head, sizeof head, MSG_DONTWAIT) == ssize_t{sizeof head}) {
    EXPECT_EQ(head.message.bytes, sizeof head.prefix + head.prefix.bytes);
    std::vector<char> rest(head.prefix.bytes);
    EXPECT_EQ(recv(descriptor, rest.data(), rest.size(), 0), static_cast<ssize_t>(rest.size()));
    numbers.push_back(head.prefix.number);
  }
  return numbers;
}

// Workers 0 and 1 send in an order that is not that of their rings, 2 and 3 receive.
TEST(Bridge, FramesLeaveInTheOrderInWhichTheyWereSent) {
  auto hosts = connected_hosts({2, 2});
  std::vector<Worker> workers;
  for (int i = 0; i < 2; ++i) workers.emplace_back(*hosts[0].memory, i);
  std::mt19937_64 random(1);
  std::vector<uint64_t> sent;
  for (uint64_t number = 0; number < 200; ++number) {
    const size_t from = random() % 2;
    workers[from].send(2 + static_cast<int>(random() % 2), std::string(1 + random() % 9, 'x'), {});
    sent.push_back(number);
    if (random() % 8 != 0) continue;
    ASSERT_TRUE(hosts[0].bridge->step().has_value());
  }
  ASSERT_TRUE(hosts[0].bridge->step().has_value());
  EXPECT_EQ(numbers_sent_to(hosts[1].descriptors[0]), sent);
}

// The protocol's side of a worker: it is idle until the round has ended.
int64_t await_round(SharedMemory& memory, int worker, int64_t earliest_ps) {
  SharedState& state = memory.state();
  const uint64_t round = state.round;
  state.workers[worker].earliest_ps = earliest_ps;
  state.workers[worker].earliest_order = earliest_ps == SimTime::never().ps() ? UINT64_MAX : 7;
  state.pending.fetch_sub(1);
  while (state.round == round) std::this_thread::yield();
  return state.finished ? -1 : state.bound_ps.load();
}

TEST(Bridge, RoundsEndWhenAllHostsAreIdle) {
  auto hosts = connected_hosts({1, 1, 1});
  const Running running(hosts);
  const int64_t never = SimTime::never().ps();
  const int64_t first_events[3][3] = {{50, 40, never}, {900, never, 70}, {never, never, never}};
  const int64_t bounds[3] = {140, 170, -1};
  std::vector<std::thread> workers;
  for (int i = 0; i < 3; ++i)
    workers.emplace_back([&, i] {
      for (int round = 0; round < 3; ++round)
        EXPECT_EQ(await_round(*hosts[static_cast<size_t>(i)].memory, i, first_events[round][i]),
                  bounds[round]);
    });
  for (std::thread& worker : workers) worker.join();
}

TEST(Bridge, NoRoundEndsWhileAFrameIsOnItsWay) {
  auto hosts = connected_hosts({1, 1});
  Worker a(*hosts[0].memory, 0), b(*hosts[1].memory, 1);
  SharedState& here = hosts[0].memory->state();
  SharedState& there = hosts[1].memory->state();
  const auto step_both = [&] {
    for (int i = 0; i < 20; ++i)
      for (TestHost& host : hosts) ASSERT_TRUE(host.bridge->step().has_value());
  };
  a.send(1, std::string("frame"), {});
  here.pending.fetch_sub(1);
  there.pending.fetch_sub(1);
  ASSERT_TRUE(hosts[1].bridge->step().has_value());  // is idle, and says so
  step_both();
  EXPECT_EQ(here.pending, 0);
  EXPECT_EQ(there.pending, 1);  // the frame
  EXPECT_EQ(here.round, 0U);
  there.pending.fetch_add(1);
  EXPECT_EQ(await_frames(b), std::vector<std::string>{"frame"});
  step_both();
  EXPECT_EQ(here.round, 0U);
  there.pending.fetch_sub(1);
  step_both();
  EXPECT_EQ(here.round, 1U);
  EXPECT_EQ(there.round, 1U);
}

// What the first host says of a message that another one sends, of two hosts with a worker each.
std::string answer_to(const BridgeMessage& message, const std::string& bytes) {
  auto memory = SharedMemory::create(2, kSmallRingBytes).value();
  memory->set_here(0, 1);
  int ends[2];
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  Bridge bridge(*memory, {{"host b", ends[0], 1, 1}}, true, kQuantum, ignore);
  BridgeMessage sent = message;
  if (sent.bytes == 0) sent.bytes = static_cast<uint32_t>(bytes.size());
  EXPECT_EQ(write(ends[1], &sent, sizeof sent), ssize_t{sizeof sent});
  EXPECT_EQ(write(ends[1], bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  const auto stepped = bridge.step();
  close(ends[0]);
  close(ends[1]);
  return stepped ? "" : stepped.error().message;
}

std::string prefix_of(uint64_t frame_bytes) {
  const FramePrefix prefix{frame_bytes, 0};
  return {reinterpret_cast<const char*>(&prefix), sizeof prefix};
}

TEST(Bridge, RefusesWhatIsNoMessage) {
  using Kind = BridgeMessage::Kind;
  EXPECT_EQ(answer_to({.from = 1, .number = 1}, prefix_of(0)), "");
  EXPECT_EQ(answer_to({.kind = Kind::kFirstOther}, "taken"), "");
  const std::string own = "host b: it sent ";
  EXPECT_EQ(answer_to({.bytes = 1 << 20}, ""), own + "a message that is too long");
  EXPECT_EQ(answer_to({.from = 0, .number = 1}, prefix_of(0)),
            own + "a frame of a worker that it has not");
  EXPECT_EQ(answer_to({.from = 1, .to = 9, .number = 1}, prefix_of(0)),
            own + "a frame of a worker that it has not");
  EXPECT_EQ(answer_to({.from = 1, .to = 1, .number = 1}, prefix_of(0)),
            own + "a frame to a worker that is not here");
  EXPECT_EQ(answer_to({.from = 1, .number = 0}, prefix_of(0)),
            own + "a frame that begins in another one");
  EXPECT_EQ(answer_to({.from = 1, .number = 1}, "short"),
            own + "a frame that begins in another one");
  EXPECT_EQ(answer_to({.from = 1, .number = 1}, prefix_of(uint64_t{1} << 50)),
            own + "a frame that is too long");
  EXPECT_EQ(answer_to({.from = 1, .number = 1}, prefix_of(3) + "four"),
            own + "more of a frame than there is space");
  EXPECT_EQ(answer_to({.from = 1, .number = 1},
                      prefix_of(kSmallRingBytes) + std::string(kSmallRingBytes, 'x')),
            own + "more of a frame than there is space");
  EXPECT_EQ(answer_to({.kind = Kind::kTaken, .from = 0, .to = 1, .number = 5}, ""),
            own + "that it took more than it got");
  EXPECT_EQ(answer_to({.kind = Kind::kTaken, .from = 0, .to = 0}, ""),
            own + "how much is taken of a ring that it has not");
  EXPECT_EQ(answer_to({.kind = Kind::kIdle}, "short"),
            own + "a message about rounds that does not belong there");
  EXPECT_EQ(answer_to({.kind = Kind::kRound}, std::string(sizeof(Round), 'x')),
            own + "a message about rounds that does not belong there");
}

TEST(Bridge, NamesTheHostThatBreaksOff) {
  auto hosts = connected_hosts({1, 1});
  shutdown(hosts[1].descriptors[0], SHUT_RDWR);
  const auto stepped = hosts[0].bridge->step();
  ASSERT_FALSE(stepped.has_value());
  EXPECT_EQ(stepped.error().message, "host 1: the connection broke: it was closed");
  hosts[0].bridge->expect_end(0);
  EXPECT_TRUE(hosts[0].bridge->step().has_value());
  EXPECT_FALSE(hosts[0].bridge->step().value());
}

}  // namespace
}  // namespace sesame::pdes
