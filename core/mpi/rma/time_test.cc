// Times of one-sided communication against the closed forms of docs/models/one-sided.md. The
// machine has o_s = 0.3 us, o_r = 0.4 us, w = 1.3 us, 1 ns per byte and a gap of 0.1 us.
#include <gtest/gtest.h>

#include <vector>

#include "core/mpi/api.h"
#include "core/mpi/messages/waiting.h"
#include "core/mpi/testing/simulated_job.h"

namespace sesame::mpi {
namespace {

using testing::SimulatedJob;

constexpr SimTime kSend = SimTime::from_ns(300);
constexpr SimTime kReceive = SimTime::from_ns(400);
constexpr SimTime kWire = SimTime::from_ns(1300);
constexpr SimTime kMessage = SimTime::from_ns(2000);  // all three
constexpr int kBytes = 1000;
constexpr SimTime kTransfer = SimTime::from_ns(1000);

// Blocks the rank for a time.
void pause(SimTime time) {
  Strand& strand = self();
  strand.now += time;
  schedule_wake(strand, strand.now);
  strand.rank->world.executive.block();
}

// A window of kBytes at every rank while `body` runs; all ranks begin it at the same time.
void with_window(int ranks, const std::function<void(int rank, Win win)>& body,
                 const std::string& network = testing::kCrossbar, Count bytes = kBytes) {
  SimulatedJob job(ranks, network);
  job.run([&](int rank) {
    std::vector<char> memory(static_cast<size_t>(bytes));
    Win win = MPI_WIN_NULL;
    ASSERT_EQ(Win_create(memory.data(), bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win),
              MPI_SUCCESS);
    self().now = SimTime::from_ns(1'000'000);
    schedule_wake(self(), self().now);
    self().rank->world.executive.block();
    body(rank, win);
    EXPECT_EQ(Win_free(&win), MPI_SUCCESS);
  });
}

SimTime time_of(const std::function<void()>& what) {
  const SimTime begin = self().now;
  what();
  return self().now - begin;
}

TEST(OneSidedTime, PutAndFlushIsTheWayThereAndAnAcknowledgement) {
  with_window(2, [](int rank, Win win) {
    if (rank != 0) return;
    std::vector<char> data(kBytes);
    Win_lock_all(MPI_MODE_NOCHECK, win);
    EXPECT_EQ(time_of([&] {
                Put(data.data(), kBytes, MPI_BYTE, 1, 0, kBytes, MPI_BYTE, win);
                Win_flush(1, win);
              }),
              kSend + kWire + kTransfer + kWire);
    Win_unlock_all(win);
  });
}

TEST(OneSidedTime, PutIsCompleteLocallyWhenItsDataHasLeft) {
  with_window(2, [](int rank, Win win) {
    if (rank != 0) return;
    std::vector<char> data(kBytes);
    Win_lock_all(MPI_MODE_NOCHECK, win);
    EXPECT_EQ(time_of([&] { Put(data.data(), kBytes, MPI_BYTE, 1, 0, kBytes, MPI_BYTE, win); }),
              kSend);
    EXPECT_EQ(time_of([&] { Win_flush_local(1, win); }), kTransfer);
    Win_unlock_all(win);
  });
}

TEST(OneSidedTime, GetIsARequestAndTheDataBack) {
  with_window(2, [](int rank, Win win) {
    if (rank != 0) return;
    std::vector<char> data(kBytes);
    Win_lock_all(MPI_MODE_NOCHECK, win);
    EXPECT_EQ(time_of([&] {
                Get(data.data(), kBytes, MPI_BYTE, 1, 0, kBytes, MPI_BYTE, win);
                Win_flush_local(1, win);
              }),
              kSend + kWire + kWire + kTransfer);
    Win_unlock_all(win);
  });
}

TEST(OneSidedTime, PutsFollowEachOtherOutOfTheInterface) {
  with_window(3, [](int rank, Win win) {
    if (rank != 0) return;
    std::vector<char> data(kBytes);
    constexpr int kPuts = 6;
    Win_lock_all(MPI_MODE_NOCHECK, win);
    EXPECT_EQ(time_of([&] {
                for (int i = 0; i < kPuts; ++i) {
                  Put(data.data(), kBytes, MPI_BYTE, 1 + i % 2, 0, kBytes, MPI_BYTE, win);
                }
                Win_flush_all(win);
              }),
              kSend + kTransfer * (kPuts - 1) + kWire + kTransfer + kWire);
    Win_unlock_all(win);
  });
}

TEST(OneSidedTime, AnswersOfOneTargetFollowEachOther) {
  with_window(3, [](int rank, Win win) {
    if (rank == 0) return;
    std::vector<char> data(kBytes);
    constexpr SimTime kLater = SimTime::from_ns(10);
    if (rank == 2) pause(kLater);
    Win_lock_all(MPI_MODE_NOCHECK, win);
    const SimTime took = time_of([&] {
      Get(data.data(), kBytes, MPI_BYTE, 0, 0, kBytes, MPI_BYTE, win);
      Win_flush(0, win);
    });
    const SimTime alone = kSend + kWire + kWire + kTransfer;
    EXPECT_EQ(took, rank == 1 ? alone : alone + kTransfer - kLater);
    Win_unlock_all(win);
  });
}

// A large put needs no handshake: it is as fast as a ping-pong less its two control messages.
TEST(OneSidedTime, ALargePutNeedsNoHandshake) {
  const std::string network = std::string(testing::kCrossbar);
  const size_t at = network.find("[topology]");
  const std::string limited =
      network.substr(0, at) + "eager_limit = \"512 B\"\n" + network.substr(at);
  with_window(
      2,
      [](int rank, Win win) {
        if (rank != 0) return;
        std::vector<char> data(kBytes);
        const network::MessageCost cost = self().rank->world.network.cost(0, 1, kBytes);
        ASSERT_TRUE(cost.rendezvous);
        Win_lock_all(MPI_MODE_NOCHECK, win);
        EXPECT_EQ(time_of([&] {
                    Put(data.data(), kBytes, MPI_BYTE, 1, 0, kBytes, MPI_BYTE, win);
                    Win_flush(1, win);
                  }),
                  kSend + cost.latency + kTransfer + cost.control_latency);
        Win_unlock_all(win);
      },
      limited);
}

// The kCrossbar on which processors copy eager messages for 0.3 ns per byte. Its cards are fast.
std::string copying(const std::string& sharing) {
  std::string network = testing::kCrossbar;
  return network.insert(network.find("[topology]"),
                        "send_copy_bandwidth = \"10 GB/s\"\nreceive_copy_bandwidth = \"5 GB/s\"\n"
                        "sharing = \"" +
                            sharing + "\"\n[network.card]\nbandwidth = \"4 GB/s\"\n");
}

// The cards move the data: its time is that of all its bytes, which no processor copies.
TEST(OneSidedTime, NoProcessorCopiesTheData) {
  for (const char* sharing : {"none", "interface"}) {
    with_window(
        2,
        [&](int rank, Win win) {
          if (rank != 0) return;
          std::vector<char> data(kBytes);
          const SimTime alone = kSend + kWire + kTransfer + kWire;
          Win_lock_all(MPI_MODE_NOCHECK, win);
          EXPECT_EQ(time_of([&] {
                      Put(data.data(), kBytes, MPI_BYTE, 1, 0, kBytes, MPI_BYTE, win);
                      Win_flush(1, win);
                    }),
                    alone)
              << "put, " << sharing;
          EXPECT_EQ(time_of([&] {
                      Get(data.data(), kBytes, MPI_BYTE, 1, 0, kBytes, MPI_BYTE, win);
                      Win_flush(1, win);
                    }),
                    alone)
              << "get, " << sharing;
          Win_unlock_all(win);
        },
        copying(sharing));
  }
}

TEST(OneSidedTime, AFreeLockCostsTheWayThereAndBack) {
  with_window(2, [](int rank, Win win) {
    if (rank != 0) return;
    EXPECT_EQ(time_of([&] { Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win); }), kSend + kWire + kWire);
    EXPECT_EQ(time_of([&] { Win_unlock(1, win); }), kSend);
    EXPECT_EQ(time_of([&] { Win_lock(MPI_LOCK_SHARED, 1, MPI_MODE_NOCHECK, win); }),
              SimTime::zero());
    EXPECT_EQ(time_of([&] { Win_unlock(1, win); }), SimTime::zero());
  });
}

TEST(OneSidedTime, ATakenLockIsGrantedWhenItsReleaseArrives) {
  constexpr SimTime kHeld = SimTime::from_ns(50'000);
  with_window(3, [&](int rank, Win win) {
    if (rank == 0) return;
    if (rank == 2) pause(SimTime::from_ns(100));
    const SimTime took = time_of([&] { Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win); });
    if (rank == 1) {
      pause(kHeld);
    } else {
      const SimTime released = kSend + kWire + kWire + kHeld + kSend + kWire;
      EXPECT_EQ(took, released + kWire - SimTime::from_ns(100));
    }
    Win_unlock(0, win);
  });
}

TEST(OneSidedTime, AFenceIsCompletionAndABarrier) {
  with_window(2, [](int rank, Win win) {
    EXPECT_EQ(time_of([&] { Win_fence(0, win); }), kMessage);
    std::vector<char> data(kBytes);
    const SimTime begin = self().now;
    if (rank == 0) Put(data.data(), kBytes, MPI_BYTE, 1, 0, kBytes, MPI_BYTE, win);
    Win_fence(0, win);
    // Rank 1 waits in the barrier for the signal of rank 0. The signal of rank 1 has reached rank 0
    // by then.
    const SimTime complete = kSend + kWire + kTransfer + kWire;
    EXPECT_EQ(self().now - begin, complete + (rank == 0 ? kSend + kReceive : kMessage));
  });
}

TEST(OneSidedTime, PostAndStartExchangeMessages) {
  with_window(2, [](int rank, Win win) {
    Group world, other;
    Comm_group(MPI_COMM_WORLD, &world);
    const int peer = 1 - rank;
    Group_incl(world, 1, &peer, &other);
    std::vector<char> data(kBytes);
    const SimTime begin = self().now;
    const SimTime complete = kMessage + kSend + kWire + kTransfer + kWire;
    if (rank == 0) {
      Win_start(other, 0, win);
      EXPECT_EQ(self().now - begin, kMessage);
      Put(data.data(), kBytes, MPI_BYTE, 1, 0, kBytes, MPI_BYTE, win);
      Win_complete(win);
      EXPECT_EQ(self().now - begin, complete + kSend);
    } else {
      Win_post(other, 0, win);
      EXPECT_EQ(self().now - begin, kSend);
      Win_wait(win);
      EXPECT_EQ(self().now - begin, complete + kMessage);
    }
    Group_free(&world);
    Group_free(&other);
  });
}

// Rank 1 spins on its memory; rank 0 puts a flag there 50 us later.
TEST(OneSidedTime, AFlagIsSeenByTheNextPollAfterItsArrival) {
  constexpr SimTime kLater = SimTime::from_ns(50'000);
  with_window(2, [&](int rank, Win win) {
    char* base = nullptr;
    int found = 0;
    Win_get_attr(win, MPI_WIN_BASE, &base, &found);
    ASSERT_EQ(found, 1);
    Win_lock_all(MPI_MODE_NOCHECK, win);
    const SimTime begin = self().now;
    if (rank == 0) {
      pause(kLater);
      const char one = 1;
      Put(&one, 1, MPI_BYTE, 1, 0, 1, MPI_BYTE, win);
    } else {
      while (*static_cast<volatile char*>(base) == 0) Win_sync(win);
      const SimTime arrival = kLater + kSend + kWire + SimTime::from_ns(1);
      EXPECT_GE(self().now - begin, arrival);
      EXPECT_LE(self().now - begin, arrival + SimTime::from_ns(200));
    }
    Win_unlock_all(win);
  });
}

}  // namespace
}  // namespace sesame::mpi
