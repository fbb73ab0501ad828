// When messages, waits and cancellations take effect, against closed forms of the LogGP model.
#include "core/mpi/messages/waiting.h"

#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <string>
#include <vector>

#include "core/mpi/api.h"
#include "core/mpi/testing/simulated_job.h"

namespace sesame::mpi {
namespace {

using testing::kCrossbarWithRendezvous;
using testing::SimulatedJob;

// o_s = 0.3 us, o_r = 0.4 us; up to 1,000 bytes 1.3 us on the wire, above that rendezvous with
// control messages of 1.3 us and 1.7 us on the wire; 1 ns per byte.
constexpr SimTime kSend = SimTime::from_ns(300);
constexpr SimTime kReceive = SimTime::from_ns(400);
constexpr SimTime kControl = SimTime::from_ns(1300);
constexpr SimTime kEagerWire = SimTime::from_ns(1300);
constexpr SimTime kRendezvousWire = SimTime::from_ns(1700);
constexpr int kEagerLimit = 1000;

void work(SimTime time) { self().now += time; }

// When the data of an eager message that is sent at `begin` has arrived.
SimTime arrival(SimTime begin, int bytes) {
  return begin + kSend + kEagerWire + SimTime::from_ns(bytes);
}

// When a receive that is posted at `posted` has completed, of a message that is sent at zero.
SimTime receive_end(int bytes, SimTime posted) {
  if (bytes <= kEagerLimit) return later(arrival(SimTime::zero(), bytes), posted) + kReceive;
  return later(kSend + kControl, posted) + kControl + kRendezvousWire + SimTime::from_ns(bytes) +
         kReceive;
}

using SendFunction = int (*)(const void*, Count, Datatype, int, int, Comm);

// Called with each rank as the sender. The simulator runs the rank with the lower number first, so
// it posts the receive before the send in one case and after it in the other.
void expect_receive_time(SendFunction send, int bytes, SimTime posted, int sender) {
  SCOPED_TRACE(std::to_string(bytes) + " bytes, posted at " + std::to_string(posted.ps()) +
               " ps, sent by rank " + std::to_string(sender));
  SimulatedJob job(2, kCrossbarWithRendezvous);
  job.run([&](int rank) {
    std::vector<char> data(static_cast<size_t>(bytes), rank == sender ? 'x' : '-');
    if (rank == sender) {
      EXPECT_EQ(send(data.data(), bytes, MPI_CHAR, 1 - sender, 0, MPI_COMM_WORLD), MPI_SUCCESS);
      if (send != Ssend && bytes <= kEagerLimit) {
        EXPECT_EQ(self().now, kSend);
      }
      if (send == Ssend && bytes <= kEagerLimit) {
        EXPECT_EQ(self().now, later(arrival(SimTime::zero(), bytes), posted) + kControl);
      }
      return;
    }
    work(posted);
    Recv(data.data(), bytes, MPI_CHAR, sender, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    EXPECT_EQ(self().now, receive_end(bytes, posted));
    EXPECT_EQ(data, std::vector<char>(static_cast<size_t>(bytes), 'x'));
  });
}

TEST(Messaging, TakesTheSameTimeWhicheverSideTheSimulatorRunsFirst) {
  for (const SendFunction send : {&Send, &Ssend}) {
    for (const int bytes : {0, 8, 40, 41, 1000, 1001, 50'000}) {
      for (const SimTime posted :
           {SimTime::zero(), SimTime::from_ns(2000), SimTime::from_ns(80'000)}) {
        for (const int sender : {0, 1}) expect_receive_time(send, bytes, posted, sender);
      }
    }
  }
}

TEST(Messaging, MoreMessagesThanAreDeferredAtOnceArriveInOrder) {
  constexpr int kMessages = 100;
  for (const int sender : {0, 1}) {
    SimulatedJob job(2, kCrossbarWithRendezvous);
    job.run([sender](int rank) {
      for (int i = 0; i < kMessages; ++i) {
        int value = i;
        if (rank == sender) {
          Send(&value, 1, MPI_INT, 1 - sender, 0, MPI_COMM_WORLD);
        } else {
          Recv(&value, 1, MPI_INT, sender, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
          EXPECT_EQ(value, i);
        }
      }
      // A receive takes longer than a send: from the first arrival on the receiver is busy.
      if (rank != sender) {
        EXPECT_EQ(self().now, arrival(SimTime::zero(), 4) + SimTime::from_ns(400 * kMessages));
      }
    });
  }
}

TEST(Completion, OfAllChargesEachOverheadWhenItsMessageHasArrived) {
  SimulatedJob job(3, kCrossbarWithRendezvous);
  job.run([](int rank) {
    int value = rank;
    if (rank != 0) {
      work(SimTime::from_ns(rank == 1 ? 5000 : 100));
      Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
      return;
    }
    std::array<int, 2> values{};
    std::array<Request, 2> requests;
    Irecv(&values[0], 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &requests[0]);
    Irecv(&values[1], 1, MPI_INT, 2, 0, MPI_COMM_WORLD, &requests[1]);
    Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
    const SimTime first = arrival(SimTime::from_ns(100), 4) + kReceive;
    EXPECT_EQ(self().now, later(first, arrival(SimTime::from_ns(5000), 4)) + kReceive);
    EXPECT_EQ(values, (std::array{1, 2}));
  });
}

TEST(Completion, OfAnyIsThatOfTheFirstInSimulatedTime) {
  SimulatedJob job(3, kCrossbarWithRendezvous);
  job.run([](int rank) {
    int value = rank;
    if (rank != 0) {
      work(SimTime::from_ns(rank == 1 ? 5000 : 100));
      Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
      return;
    }
    std::array<int, 2> values{};
    std::array<Request, 2> requests;
    Irecv(&values[0], 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &requests[0]);
    Irecv(&values[1], 1, MPI_INT, 2, 0, MPI_COMM_WORLD, &requests[1]);
    int index = -1;
    Waitany(2, requests.data(), &index, MPI_STATUS_IGNORE);
    EXPECT_EQ(index, 1);
    EXPECT_EQ(self().now, arrival(SimTime::from_ns(100), 4) + kReceive);
    Waitany(2, requests.data(), &index, MPI_STATUS_IGNORE);
    EXPECT_EQ(index, 0);
    EXPECT_EQ(self().now, arrival(SimTime::from_ns(5000), 4) + kReceive);
  });
}

// Cancels a receive that is posted before another one, which then matches the message.
void expect_message_after_cancel(int cancelled_source) {
  SimulatedJob job(2, kCrossbarWithRendezvous);
  job.run([cancelled_source](int rank) {
    this_rank().matching.allow_cancels();
    int value = rank == 1 ? 7 : 0;
    if (rank == 1) {
      work(SimTime::from_ns(10'000));
      Send(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
      return;
    }
    int unused = -1;
    Request cancelled = MPI_REQUEST_NULL;
    Request other = MPI_REQUEST_NULL;
    Irecv(&unused, 1, MPI_INT, cancelled_source, 5, MPI_COMM_WORLD, &cancelled);
    Irecv(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &other);
    EXPECT_EQ(Cancel(&cancelled), MPI_SUCCESS);
    Status status{};
    EXPECT_EQ(Wait(&cancelled, &status), MPI_SUCCESS);
    EXPECT_TRUE(status.cancelled());
    EXPECT_EQ(Wait(&other, &status), MPI_SUCCESS);
    EXPECT_EQ(self().now, arrival(SimTime::from_ns(10'000), 4) + kReceive);
    EXPECT_EQ(value, 7);
    EXPECT_EQ(unused, -1);
  });
}

TEST(Cancelling, AReceiveLeavesItsMessageToTheNext) {
  expect_message_after_cancel(1);
  expect_message_after_cancel(MPI_ANY_SOURCE);
}

// Cancels a receive whose message has arrived.
void expect_message_in_spite_of_cancel(int source) {
  SimulatedJob job(2, kCrossbarWithRendezvous);
  job.run([source](int rank) {
    this_rank().matching.allow_cancels();
    int value = rank == 1 ? 7 : 0;
    if (rank == 1) {
      Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
      return;
    }
    Request request = MPI_REQUEST_NULL;
    Irecv(&value, 1, MPI_INT, source, 0, MPI_COMM_WORLD, &request);
    work(SimTime::from_ns(50'000));
    EXPECT_EQ(Cancel(&request), MPI_SUCCESS);
    Status status{};
    EXPECT_EQ(Wait(&request, &status), MPI_SUCCESS);
    EXPECT_FALSE(status.cancelled());
    EXPECT_EQ(value, 7);
  });
}

// At the simulated time of the call, whichever rank the simulator runs first.
TEST(Cancelling, AReceiveWhoseMessageHasArrivedFails) {
  expect_message_in_spite_of_cancel(MPI_ANY_SOURCE);
  expect_message_in_spite_of_cancel(1);
}

// A receive that rank `receiver` posts at zero, and cancels so long after the message, or its
// request to send, has arrived (before: if `after` is negative).
struct CancelCase {
  int bytes;
  bool is_persistent;
  SimTime after;
  int receiver;
};

void receive_or_cancel(const CancelCase& given, std::vector<char>& data) {
  const SimTime arrives =
      given.bytes <= kEagerLimit ? arrival(SimTime::zero(), given.bytes) : kSend + kControl;
  const SimTime cancelled_at = arrives + given.after;
  Request request = MPI_REQUEST_NULL;
  const int sender = 1 - given.receiver;
  if (given.is_persistent) {
    Recv_init(data.data(), given.bytes, MPI_CHAR, sender, 0, MPI_COMM_WORLD, &request);
    Start(&request);
  } else {
    Irecv(data.data(), given.bytes, MPI_CHAR, sender, 0, MPI_COMM_WORLD, &request);
  }
  work(cancelled_at);
  EXPECT_EQ(Cancel(&request), MPI_SUCCESS);
  EXPECT_EQ(self().now, cancelled_at);
  Status status{};
  Wait(&request, &status);
  EXPECT_EQ(status.cancelled(), given.after < SimTime::zero());
  SimTime posted = SimTime::zero();
  if (status.cancelled()) {
    EXPECT_EQ(data, std::vector<char>(data.size(), '-'));
    EXPECT_EQ(self().now, cancelled_at);
    Recv(data.data(), given.bytes, MPI_CHAR, sender, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    posted = cancelled_at;
  }
  EXPECT_EQ(self().now, later(receive_end(given.bytes, posted), cancelled_at + kReceive));
  EXPECT_EQ(data, std::vector<char>(data.size(), 'x'));
  if (given.is_persistent) Request_free(&request);
}

TEST(Cancelling, ANamedReceiveIsCancelledUnlessItsMessageHasArrived) {
  const SimTime step = SimTime::from_ns(1);
  for (const int bytes : {8, 1000, 50'000})
    for (const bool is_persistent : {false, true})
      for (const SimTime after : {SimTime::zero() - step, SimTime::zero(), step})
        for (const int receiver : {0, 1}) {
          SCOPED_TRACE(std::to_string(bytes) + " bytes, cancelled " + std::to_string(after.ps()) +
                       " ps after the arrival by rank " + std::to_string(receiver));
          SimulatedJob job(2, kCrossbarWithRendezvous);
          job.run([&](int rank) {
            this_rank().matching.allow_cancels();
            std::vector<char> data(static_cast<size_t>(bytes), rank == receiver ? '-' : 'x');
            if (rank == receiver) {
              return receive_or_cancel({bytes, is_persistent, after, receiver}, data);
            }
            Send(data.data(), bytes, MPI_CHAR, receiver, 0, MPI_COMM_WORLD);
          });
        }
}

// The receive from any source, posted first, matches the message that arrives first. Until then the
// other sender's message is held back from the receive that names this sender.
TEST(Wildcard, HoldsMessagesBackFromReceivesPostedLater) {
  for (const int early : {1, 2}) {
    SimulatedJob job(3, kCrossbarWithRendezvous);
    job.run([early](int rank) {
      int value = rank;
      if (rank != 0) {
        work(SimTime::from_ns(rank == early ? 5000 : 10'000));
        Send(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
        return;
      }
      const int late = 3 - early;
      std::array<int, 2> values{};
      std::array<Request, 2> requests;
      Irecv(&values[0], 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &requests[0]);
      Irecv(&values[1], 1, MPI_INT, late, 5, MPI_COMM_WORLD, &requests[1]);
      Wait(&requests[0], MPI_STATUS_IGNORE);
      EXPECT_EQ(values[0], early);
      EXPECT_EQ(self().now, arrival(SimTime::from_ns(5000), 4) + kReceive);
      Wait(&requests[1], MPI_STATUS_IGNORE);
      EXPECT_EQ(values[1], late);
      EXPECT_EQ(self().now, arrival(SimTime::from_ns(10'000), 4) + kReceive);
    });
  }
}

// Messages of one sender do not overtake each other: of two receives, the wildcard matches the
// first message sent and the named receive the second.
TEST(Wildcard, AndANamedReceiveTakeOneSendersMessagesInOrder) {
  for (const int sender : {1, 0}) {
    SimulatedJob job(2, kCrossbarWithRendezvous);
    job.run([sender](int rank) {
      if (rank == sender) {
        for (int value : {1, 2}) Send(&value, 1, MPI_INT, 1 - sender, 0, MPI_COMM_WORLD);
        return;
      }
      std::array<int, 2> values{};
      std::array<Request, 2> requests;
      Irecv(&values[0], 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &requests[0]);
      Irecv(&values[1], 1, MPI_INT, sender, 0, MPI_COMM_WORLD, &requests[1]);
      Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
      EXPECT_EQ(values, (std::array{1, 2}));
      EXPECT_EQ(self().now, arrival(SimTime::zero(), 4) + kReceive + kReceive);
    });
  }
}

}  // namespace
}  // namespace sesame::mpi
