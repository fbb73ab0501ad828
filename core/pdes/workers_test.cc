// Frames between workers, which are threads here: they arrive whole, in order, also through rings
// that are smaller than the frames.
#include "core/pdes/workers.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <cstring>
#include <random>
#include <thread>

#include "core/base/testing/busy_processor.h"

namespace sesame::pdes {
namespace {

constexpr uint64_t kRingBytes = 1 << 18;

std::string frame_of(uint64_t seed, size_t bytes) {
  std::mt19937_64 random(seed);
  std::string frame(bytes, '\0');
  for (char& byte : frame) byte = static_cast<char>(random());
  return frame;
}

void send(Worker& from, int to, const std::string& frame, size_t head = 0) {
  const std::span<const char> bytes(frame);
  from.send(to, bytes.first(head), bytes.subspan(head));
}

std::vector<std::string> taken(Worker& worker) {
  std::vector<std::string> frames;
  worker.take_frames(
      [&](std::span<const char> frame) { frames.emplace_back(frame.begin(), frame.end()); });
  return frames;
}

TEST(Workers, FramesArriveInOrderWithBothParts) {
  const auto memory = SharedMemory::create(2, kRingBytes).value();
  Worker a(*memory, 0), b(*memory, 1);
  EXPECT_FALSE(b.has_arrivals());
  send(a, 1, "headtail", 4);
  send(a, 1, "");
  send(a, 1, "x");
  EXPECT_TRUE(b.has_arrivals());
  EXPECT_EQ(taken(b), (std::vector<std::string>{"headtail", "", "x"}));
  EXPECT_FALSE(b.has_arrivals());
  EXPECT_FALSE(b.take_frames([](std::span<const char>) { FAIL(); }));
}

TEST(Workers, RingsHoldWhatIsSentDuringAComputation) {
  EXPECT_EQ(ring_bytes_for(2), uint64_t{16} << 20);
  EXPECT_EQ(ring_bytes_for(3), uint64_t{4} << 20);
  EXPECT_EQ(ring_bytes_for(kMostWorkers), uint64_t{256} << 10);
  const auto memory = SharedMemory::create(2).value();
  Worker a(*memory, 0);
  send(a, 1, std::string(15 << 20, 'x'));  // nothing takes it
  EXPECT_EQ(memory->state().workers[0].waited_ticks, 0U);
}

TEST(Workers, CountBusyWorkersAndFramesThatAreNotTaken) {
  const auto memory = SharedMemory::create(3).value();
  Worker a(*memory, 0), b(*memory, 1);
  EXPECT_EQ(memory->state().pending, 3);
  send(a, 1, "one");
  send(a, 1, "two");
  EXPECT_EQ(memory->state().pending, 5);
  taken(b);
  EXPECT_EQ(memory->state().pending, 3);
  EXPECT_EQ(memory->state().workers[0].frames, 2U);
}

// Lengths that divide the ring's size neither evenly nor alike, so that frames and their lengths
// lie across its end.
TEST(Workers, FramesLieAcrossTheEndOfARing) {
  const auto memory = SharedMemory::create(2, kRingBytes).value();
  Worker a(*memory, 0), b(*memory, 1);
  for (uint64_t i = 0; i < 400; ++i) {
    const std::string frame = frame_of(i, 1 + i * 97 % 5'003);
    send(a, 1, frame, frame.size() / 3);
    ASSERT_EQ(taken(b), std::vector<std::string>{frame});
  }
  EXPECT_GT(memory->ring(0, 1).written, 3 * kRingBytes);
}

// Each sends what no ring holds before it takes anything: neither waits for the other for ever.
TEST(Workers, TwoThatSendMoreThanTheRingsHoldDoNotWaitForEachOther) {
  const auto memory = SharedMemory::create(2, kRingBytes).value();
  constexpr uint64_t kFrames = 20;
  constexpr size_t kBytes = kRingBytes + 12'345;
  const auto run = [&](int number, std::vector<std::string>* frames) {
    Worker worker(*memory, number);
    for (uint64_t i = 0; i < kFrames; ++i)
      send(worker, 1 - number, frame_of(2 * i + static_cast<uint64_t>(number), kBytes), 7);
    worker.wait_until([&] {
      for (std::string& frame : taken(worker)) frames->push_back(std::move(frame));
      return frames->size() == kFrames;
    });
  };
  std::vector<std::string> of_a, of_b;
  std::thread other([&] { run(1, &of_b); });
  run(0, &of_a);
  other.join();
  for (uint64_t i = 0; i < kFrames; ++i) {
    EXPECT_TRUE(of_a[i] == frame_of(2 * i + 1, kBytes)) << i;
    EXPECT_TRUE(of_b[i] == frame_of(2 * i, kBytes)) << i;
  }
  EXPECT_EQ(memory->state().pending, 2);
}

// While a frame is taken, what arrives because of a full ring does not move it.
TEST(Workers, AFrameStaysWhereItIsWhileItsTakerSends) {
  const auto memory = SharedMemory::create(2, kRingBytes).value();
  constexpr uint64_t kFrames = 20;
  constexpr size_t kBytes = kRingBytes + 12'345;
  std::thread other([&] {
    Worker worker(*memory, 1);
    for (uint64_t i = 0; i < kFrames; ++i) send(worker, 0, frame_of(i, kBytes));
    size_t answers = 0;
    worker.wait_until([&] { return (answers += taken(worker).size()) == kFrames; });
  });
  Worker worker(*memory, 0);
  uint64_t got = 0;
  worker.wait_until([&] {
    worker.take_frames([&](std::span<const char> frame) {
      send(worker, 1, std::string(kBytes, 'a'));
      EXPECT_TRUE(std::string(frame.begin(), frame.end()) == frame_of(got, kBytes)) << got;
      ++got;
    });
    return got == kFrames;
  });
  other.join();
}

TEST(Workers, TheTimeThatAWorkerWaitsIsCounted) {
  const auto memory = SharedMemory::create(2, kRingBytes).value();
  Worker a(*memory, 0), b(*memory, 1);
  const uint64_t begin = read_time_stamp();
  {
    const WaitingTime waiting(b);
    b.wait_until([] { return true; });
  }
  const uint64_t waited = memory->state().workers[1].waited_ticks;
  EXPECT_GT(waited, 0U);
  EXPECT_LE(waited, read_time_stamp() - begin);
  EXPECT_EQ(memory->state().workers[0].waited_ticks, 0U);
}

TEST(Workers, OneThatIsDoneIsNotIdleWhileItWaits) {
  const auto memory = SharedMemory::create(2, kRingBytes).value();
  Worker worker(*memory, 0);
  const auto idle = [&] {
    const WaitingTime waiting(worker);
    return memory->state().idle.load();
  };
  EXPECT_EQ(idle(), 1);
  worker.set_done();
  EXPECT_EQ(idle(), 0);
  EXPECT_EQ(memory->state().idle.load(), 0);
}

// The sender waits for space, and only it can send more: until then there is nothing to take.
TEST(Workers, APartThatWasTakenIsNoArrival) {
  const auto memory = SharedMemory::create(2, kRingBytes).value();
  Worker worker(*memory, 1);
  Ring& ring = memory->ring(0, 1);
  const FramePrefix prefix{3, 0};
  std::memcpy(memory->data_of(0, 1, 0).data(), &prefix, sizeof prefix);
  std::memcpy(memory->data_of(0, 1, sizeof prefix).data(), "abc", 3);
  ring.written = sizeof prefix + 1;
  EXPECT_TRUE(worker.has_arrivals());
  EXPECT_EQ(taken(worker), std::vector<std::string>());
  EXPECT_FALSE(worker.has_arrivals());
  ring.written = sizeof prefix + 3;
  EXPECT_TRUE(worker.has_arrivals());
  EXPECT_EQ(taken(worker), std::vector<std::string>{"abc"});
}

// One that changes the bell's memory takes away the wake-up.
TEST(Workers, AWorkerWakesAlsoIfItsBellWasDamaged) {
  const auto memory = SharedMemory::create(2, kRingBytes).value();
  Worker worker(*memory, 0);
  std::atomic<bool> is_there = false;
  std::thread other([&] {
    while (memory->bell(0).owner_sleeps == 0) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    memory->bell(0).owner_sleeps = 0;
    is_there = true;
    ring_if_asleep(memory->bell(0));
  });
  worker.wait_until([&] { return is_there.load(); });
  other.join();
}

// Before some frames the sender waits until the other one sleeps. Pauses of up to 1 ms end at about
// the time when it begins to.
TEST(Workers, AFrameWakesAWorkerThatSleeps) {
  const auto memory = SharedMemory::create(2, kRingBytes).value();
  constexpr int kFrames = 2'000;
  const auto run = [&](int number) {
    Worker worker(*memory, number);
    std::mt19937_64 random(static_cast<uint64_t>(number));
    for (int i = 0; i < kFrames; ++i) {
      if (random() % 8 == 0)
        std::this_thread::sleep_for(std::chrono::microseconds(1'000 >> random() % 6));
      if (i % 2 == number) {
        if (random() % 16 == 0)
          while (memory->bell(1 - number).owner_sleeps == 0) std::this_thread::yield();
        send(worker, 1 - number, std::to_string(i));
      } else {
        std::vector<std::string> frames;
        worker.wait_until([&] { return !(frames = taken(worker)).empty(); });
        ASSERT_EQ(frames, std::vector<std::string>{std::to_string(i)});
      }
    }
  };
  std::thread other([&] { run(1); });
  run(0);
  other.join();
  EXPECT_GT(memory->bell(0).rings + memory->bell(1).rings, 0U) << "no worker slept";
}

// The thread that uses its processor would have it for a time slice at each of 1,800 yields.
TEST(Workers, AWorkerSleepsSoonWhereAnotherThreadComputes) {
  const auto memory = SharedMemory::create(2, kRingBytes).value();
  std::thread sender([&] {
    Worker worker(*memory, 1);
    while (memory->bell(0).owner_sleeps == 0) std::this_thread::yield();
    send(worker, 0, "x");
  });
  const BusyProcessor busy;
  Worker worker(*memory, 0);
  rusage begin, end;
  getrusage(RUSAGE_THREAD, &begin);
  worker.wait_until([&] { return !taken(worker).empty(); });
  getrusage(RUSAGE_THREAD, &end);
  sender.join();
  EXPECT_LT(end.ru_nivcsw - begin.ru_nivcsw, 100);
}

TEST(Workers, ASenderToAFullRingReturnsWhenTheRunIsStopped) {
  const auto memory = SharedMemory::create(2, kRingBytes).value();
  Worker a(*memory, 0);
  std::thread stop([&] { memory->stop(); });
  send(a, 1, std::string(2 * kRingBytes, 'x'));
  stop.join();
}

}  // namespace
}  // namespace sesame::pdes
