// Messages of ranks that share the cards of their nodes: times against closed forms, and what the
// program must not notice (order, cancellation, receives from any source).
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/mpi/api.h"
#include "core/mpi/messages/waiting.h"
#include "core/mpi/testing/simulated_job.h"

namespace sesame::mpi {
namespace {

using testing::SimulatedJob;

// Two ranks on each node. o_s = 0.3 us, o_r = 0.4 us; up to 1,000 bytes 1.3 us on the wire, above
// that rendezvous with control messages of 1.3 us and 1.7 us on the wire; 1 ns per byte.
const std::string kShared = R"([network]
latency = "2 us"
bandwidth = "1 GB/s"
send_overhead = "300 ns"
receive_overhead = "400 ns"
eager_limit = "1000 B"
sharing = "interface"
[[network.segment]]
up_to = "1000 B"
[[network.segment]]
latency = "5 us"
[topology]
kind = "crossbar"
)";

constexpr SimTime kEagerArrival = SimTime::from_ns(300 + 1300);  // of its first byte
constexpr SimTime kDataStart = SimTime::from_ns(300 + 1300 + 1300);
constexpr SimTime kDataWire = SimTime::from_ns(1700);
constexpr SimTime kReceive = SimTime::from_ns(400);

TEST(Sharing, TwoRanksOfANodeSendOneAfterTheOther) {
  SimulatedJob job(4, kShared, 2);
  std::vector<SimTime> ends;
  job.run([&](int rank) {
    std::vector<char> data(1000);
    if (rank < 2) {
      Send(data.data(), 1000, MPI_CHAR, rank + 2, 0, MPI_COMM_WORLD);
      return;
    }
    Recv(data.data(), 1000, MPI_CHAR, rank - 2, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    ends.push_back(self().now);
  });
  std::ranges::sort(ends);
  EXPECT_EQ(ends, (std::vector{kEagerArrival + SimTime::from_ns(1000) + kReceive,
                               kEagerArrival + SimTime::from_ns(2000) + kReceive}));
}

TEST(Sharing, ALargeSendEndsWhenTheCardHasReadItsData) {
  SimulatedJob job(4, kShared, 2);
  std::vector<SimTime> sent;
  SimTime received;
  job.run([&](int rank) {
    std::vector<char> data(50'000, static_cast<char>(rank));
    if (rank < 2) {
      Send(data.data(), 50'000, MPI_CHAR, rank + 2, 0, MPI_COMM_WORLD);
      sent.push_back(self().now);
      return;
    }
    Recv(data.data(), 50'000, MPI_CHAR, rank - 2, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    EXPECT_EQ(data, std::vector<char>(50'000, static_cast<char>(rank - 2)));
    received = later(received, self().now);
  });
  std::ranges::sort(sent);
  EXPECT_EQ(sent, (std::vector{kDataStart + SimTime::from_ns(50'000),
                               kDataStart + SimTime::from_ns(100'000)}));
  EXPECT_EQ(received, kDataStart + kDataWire + SimTime::from_ns(100'000) + kReceive);
}

TEST(Sharing, ManySendersQueueAtTheReceiver) {
  SimulatedJob job(9, kShared, 1);
  SimTime end;
  job.run([&](int rank) {
    std::vector<char> data(1000);
    if (rank > 0) {
      Send(data.data(), 1000, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
      return;
    }
    for (int i = 0; i < 8; ++i) {
      Recv(data.data(), 1000, MPI_CHAR, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      EXPECT_EQ(self().now, kEagerArrival + SimTime::from_ns(1000 * (i + 1)) + kReceive);
    }
  });
}

// A message of 8 bytes has 30 us less on the wire here than one of 900, and would overtake it.
TEST(Sharing, SmallMessagesStayBehindLargeOnesOfTheirChannel) {
  const std::string text = R"([network]
latency = "2 us"
bandwidth = "1 GB/s"
send_overhead = "300 ns"
receive_overhead = "400 ns"
eager_limit = "1000 B"
sharing = "interface"
[[network.segment]]
up_to = "100 B"
[[network.segment]]
up_to = "1000 B"
latency = "32 us"
[[network.segment]]
latency = "32 us"
[topology]
kind = "crossbar"
)";
  for (const int second : {8, 2000}) {  // eager, rendezvous
    SimulatedJob job(2, text, 1);
    job.run([&](int rank) {
      std::vector<char> data(2000, 'a');
      if (rank == 0) {
        Request requests[2];
        Isend(data.data(), 900, MPI_CHAR, 1, 5, MPI_COMM_WORLD, &requests[0]);
        Isend(data.data(), second, MPI_CHAR, 1, 6, MPI_COMM_WORLD, &requests[1]);
        Waitall(2, requests, MPI_STATUSES_IGNORE);
        return;
      }
      Status status;
      Recv(data.data(), 2000, MPI_CHAR, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
      EXPECT_EQ(status.MPI_TAG, 5);
      EXPECT_EQ(self().now, SimTime::from_ns(300 + 31'300 + 900 + 400));
      Recv(data.data(), 2000, MPI_CHAR, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
      EXPECT_EQ(status.MPI_TAG, 6);
    });
  }
}

TEST(Sharing, ASendOnItsWayCanBeCancelled) {
  SimulatedJob job(2, kShared, 1);
  job.run([](int rank) {
    char data = 'x';
    Status status;
    if (rank == 0) {
      Request request;
      Issend(&data, 1, MPI_CHAR, 1, 0, MPI_COMM_WORLD, &request);
      Cancel(&request);
      Wait(&request, &status);
      EXPECT_TRUE(status.cancelled());
      Send(&data, 1, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
      return;
    }
    Recv(&data, 1, MPI_CHAR, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    EXPECT_EQ(status.MPI_TAG, 1);
  });
}

TEST(Sharing, OneSidedOperationsShareTheCard) {
  SimulatedJob job(4, kShared, 2);
  std::vector<SimTime> put_ends;
  std::vector<SimTime> get_ends;
  job.run([&](int rank) {
    std::vector<char> memory(1000, static_cast<char>('a' + rank));
    std::vector<char> data(1000, static_cast<char>('A' + rank));
    Win window = MPI_WIN_NULL;
    Win_create(memory.data(), 1000, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    Win_fence(0, window);
    const SimTime begin = later(self().now, SimTime::from_ns(100'000));
    self().now = begin;
    Win_lock_all(MPI_MODE_NOCHECK, window);
    if (rank < 2) {
      Put(data.data(), 1000, MPI_CHAR, rank + 2, 0, 1000, MPI_CHAR, window);
      Win_flush(rank + 2, window);
      put_ends.push_back(self().now - begin);
      self().now = begin + SimTime::from_ns(50'000);
      Get(data.data(), 1000, MPI_CHAR, rank + 2, 0, 1000, MPI_CHAR, window);
      Win_flush(rank + 2, window);
      get_ends.push_back(self().now - begin - SimTime::from_ns(50'000));
      EXPECT_EQ(data, std::vector<char>(1000, static_cast<char>('A' + rank)));
    }
    Win_unlock_all(window);
    Win_fence(0, window);
    Win_free(&window);
  });
  std::ranges::sort(put_ends);
  ASSERT_EQ(put_ends.size(), 2u);
  EXPECT_EQ(put_ends[1] - put_ends[0], SimTime::from_ns(1000));
  std::ranges::sort(get_ends);
  EXPECT_EQ(get_ends[1] - get_ends[0], SimTime::from_ns(1000));
}

TEST(Sharing, RanksInsideANodeShareNothingUnlessTheFileSaysSo) {
  const auto last_of_pairs = [](const std::string& extra) {
    SimulatedJob job(
        8, kShared + "[node.network]\nlatency = \"1 us\"\nbandwidth = \"1 GB/s\"\n" + extra, 8);
    return job.run([](int rank) {
      std::vector<char> data(1000);
      if (rank % 2 == 0) {
        Send(data.data(), 1000, MPI_CHAR, rank + 1, 0, MPI_COMM_WORLD);
      } else {
        Recv(data.data(), 1000, MPI_CHAR, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      }
    });
  };
  EXPECT_EQ(last_of_pairs(""), SimTime::from_ns(2000));
  EXPECT_EQ(last_of_pairs("total_bandwidth = \"2 GB/s\"\n"), SimTime::from_ns(3000));
}

}  // namespace
}  // namespace sesame::mpi
