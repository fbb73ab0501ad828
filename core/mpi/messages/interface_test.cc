// Times of announced (rendezvous) messages against equations (2) to (5) of docs/models/network.md:
// messages of a rank are injected in order of simulated time, whichever rank runs first.
#include "core/mpi/messages/interface.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/mpi/api.h"
#include "core/mpi/testing/simulated_job.h"

namespace sesame::mpi {
namespace {

using testing::kCrossbarWithRendezvous;
using testing::SimulatedJob;

// o_s = 0.3 us, o_r = 0.4 us, w0 = 1.3 us; above 1,000 bytes rendezvous with T0 = 5 us, so that
// c = 1.3 us; 1 ns per byte.
constexpr SimTime kSend = SimTime::from_ns(300);
constexpr SimTime kReceive = SimTime::from_ns(400);
constexpr SimTime kControl = SimTime::from_ns(1300);
constexpr SimTime kWire = SimTime::from_ns(5000 - 700 - 2 * 1300);  // w - 2 c
constexpr int kBytes = 100'000;
constexpr SimTime kTransfer = SimTime::from_ns(kBytes);

void work(SimTime time) { self().now += time; }

// When a receive of kBytes completes, if it is posted at `posted`, the send starts at time zero and
// the sender's interface is free.
SimTime rendezvous_end(SimTime posted) {
  return later(kSend + kControl, posted) + kControl + kWire + kTransfer + kReceive;
}

struct Roles {
  int sender;
  int receiver;
  int third;
};
constexpr Roles kAllRoles[] = {{0, 1, 2}, {1, 0, 2}, {2, 1, 0}, {0, 2, 1}, {1, 2, 0}, {2, 0, 1}};

TEST(Interface, ALateReceiverStartsTheDataOneControlLatencyLater) {
  for (const SimTime posted : {SimTime::zero(), SimTime::from_ns(50'000)}) {
    SimulatedJob job(2, kCrossbarWithRendezvous);
    job.run([posted](int rank) {
      std::vector<char> data(kBytes);
      if (rank == 0) {
        Send(data.data(), kBytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
        return;
      }
      work(posted);
      Recv(data.data(), kBytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      EXPECT_EQ(self().now, rendezvous_end(posted));
    });
  }
}

// The sender works for a second and then sends a byte to a third rank: the data does not wait.
TEST(Interface, DataDoesNotWaitForWhatItsSenderSendsLater) {
  for (const Roles roles : kAllRoles) {
    SimulatedJob job(3, kCrossbarWithRendezvous);
    job.run([roles](int rank) {
      std::vector<char> data(kBytes);
      if (rank == roles.sender) {
        Request request = MPI_REQUEST_NULL;
        Isend(data.data(), kBytes, MPI_CHAR, roles.receiver, 0, MPI_COMM_WORLD, &request);
        work(SimTime::from_ns(1'000'000'000));
        Send(data.data(), 1, MPI_CHAR, roles.third, 1, MPI_COMM_WORLD);
        Wait(&request, MPI_STATUS_IGNORE);
      } else if (rank == roles.receiver) {
        Recv(data.data(), kBytes, MPI_CHAR, roles.sender, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        EXPECT_EQ(self().now, rendezvous_end(SimTime::zero()));
      } else {
        Recv(data.data(), 1, MPI_CHAR, roles.sender, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      }
    });
  }
}

// A message that is ready while the data is injected waits for its end.
TEST(Interface, AMessageBehindTheDataWaitsUntilTheInterfaceIsFree) {
  for (const Roles roles : kAllRoles) {
    SimulatedJob job(3, kCrossbarWithRendezvous);
    job.run([roles](int rank) {
      std::vector<char> data(kBytes);
      const SimTime start = kSend + kControl + kControl;
      if (rank == roles.sender) {
        Request request = MPI_REQUEST_NULL;
        Isend(data.data(), kBytes, MPI_CHAR, roles.receiver, 0, MPI_COMM_WORLD, &request);
        work(SimTime::from_ns(10'000));
        Send(data.data(), 1, MPI_CHAR, roles.third, 1, MPI_COMM_WORLD);
        Wait(&request, MPI_STATUS_IGNORE);
        EXPECT_EQ(self().now, start + kTransfer);
      } else if (rank == roles.receiver) {
        Recv(data.data(), kBytes, MPI_CHAR, roles.sender, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      } else {
        Recv(data.data(), 1, MPI_CHAR, roles.sender, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        const SimTime wire = SimTime::from_ns(1300 + 1);
        EXPECT_EQ(self().now, start + kTransfer + wire + kReceive);
      }
    });
  }
}

// Equation (5) for announced messages: their receives are posted in the opposite order of the
// sends, so that the last one is ready first.
TEST(Interface, AnnouncedMessagesAreInjectedInTheOrderInWhichTheyAreReady) {
  constexpr int kReceivers = 4;
  for (const bool sender_is_first : {true, false}) {
    SimulatedJob job(kReceivers + 1, kCrossbarWithRendezvous);
    const int sender = sender_is_first ? 0 : kReceivers;
    job.run([&](int rank) {
      std::vector<char> data(kBytes);
      if (rank == sender) {
        std::vector<Request> requests;
        for (int peer = 0; peer <= kReceivers; ++peer) {
          if (peer == sender) continue;
          Isend(data.data(), kBytes, MPI_CHAR, peer, 0, MPI_COMM_WORLD, &requests.emplace_back());
        }
        Waitall(kReceivers, requests.data(), MPI_STATUSES_IGNORE);
        return;
      }
      const int receiver = sender_is_first ? rank - 1 : rank;
      const int behind = kReceivers - 1 - receiver;  // receives that are posted earlier
      const SimTime first_posted = SimTime::from_ns(20'000);
      work(first_posted + SimTime::from_ns(100) * behind);
      Recv(data.data(), kBytes, MPI_CHAR, sender, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      EXPECT_EQ(self().now, rendezvous_end(first_posted) + kTransfer * behind);
    });
  }
}

TEST(Interface, ANonBlockingCollectiveDoesNotWaitForWhatIsSentAfterIt) {
  SimulatedJob job(4, kCrossbarWithRendezvous);
  job.run([](int rank) {
    std::vector<char> data(kBytes);
    Request request = MPI_REQUEST_NULL;
    Ibcast(data.data(), kBytes, MPI_CHAR, 0, MPI_COMM_WORLD, &request);
    work(SimTime::from_ns(1'000'000'000));
    char byte = 0;
    Sendrecv(&byte, 1, MPI_CHAR, (rank + 1) % 4, 1, &byte, 1, MPI_CHAR, (rank + 3) % 4, 1,
             MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    const SimTime before = self().now;
    Wait(&request, MPI_STATUS_IGNORE);
    EXPECT_EQ(self().now, before);
  });
}

}  // namespace
}  // namespace sesame::mpi
