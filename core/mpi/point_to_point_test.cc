#include <gtest/gtest.h>

#include "core/mpi/api.h"
#include "core/mpi/messaging.h"
#include "core/mpi/testing/simulated_job.h"

namespace sesame::mpi {
namespace {

using testing::SimulatedJob;

// MPICH does not look at the type of an empty message (its test recvnull).
TEST(PointToPoint, AnEmptyMessageNeedsNoDatatype) {
  SimulatedJob job(2);
  job.run([](int rank) {
    Status status{};
    EXPECT_EQ(
        Recv(nullptr, 0, MPI_DATATYPE_NULL, MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, &status),
        MPI_SUCCESS);
    EXPECT_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
    Request request = MPI_REQUEST_NULL;
    ASSERT_EQ(Irecv(nullptr, 0, MPI_DATATYPE_NULL, 1 - rank, 0, MPI_COMM_WORLD, &request),
              MPI_SUCCESS);
    EXPECT_EQ(Send(nullptr, 0, MPI_DATATYPE_NULL, 1 - rank, 0, MPI_COMM_WORLD), MPI_SUCCESS);
    EXPECT_EQ(Wait(&request, &status), MPI_SUCCESS);
    EXPECT_EQ(status.MPI_SOURCE, 1 - rank);
    EXPECT_EQ(Recv(nullptr, 1, MPI_DATATYPE_NULL, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status),
              MPI_ERR_TYPE);
    EXPECT_EQ(Recv(nullptr, -1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status), MPI_ERR_COUNT);
  });
}

// Lets the rank do nothing for a while.
void pause(SimTime time) {
  Strand& strand = self();
  strand.now += time;
  schedule_wake(strand, strand.now);
  strand.rank->world.executive.block();
}

// Whether the send of rank 0 that `receiver` is about, cancelled 100 us after it began, was.
bool is_cancelled(void (*receiver)()) {
  bool result = false;
  SimulatedJob job(2);
  job.run([&](int rank) {
    if (rank == 1) return receiver();
    int value = 7;
    Request request = MPI_REQUEST_NULL;
    Issend(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &request);
    pause(SimTime::from_ns(100'000));
    EXPECT_EQ(Cancel(&request), MPI_SUCCESS);
    Status status{};
    EXPECT_EQ(Wait(&request, &status), MPI_SUCCESS);
    result = status.cancelled();
    // So that the receiver's wait for what was cancelled ends.
    if (result) Send(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
  });
  return result;
}

TEST(PointToPoint, ASendThatNobodyHasMetIsCancelled) {
  EXPECT_TRUE(is_cancelled([] {
    int value = 0;
    Recv(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    EXPECT_EQ(value, 7);
  }));
}

TEST(PointToPoint, ASendThatAMatchedProbeHasTakenIsNotCancelled) {
  EXPECT_FALSE(is_cancelled([] {
    Message message = MPI_MESSAGE_NULL;
    Mprobe(0, 0, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    pause(SimTime::from_ns(200'000));
    int value = 0;
    EXPECT_EQ(Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(value, 7);
  }));
}

// The receive has no certain match before the message arrives, but it will have this one.
TEST(PointToPoint, ASendThatAReceiveFromAnySourceWaitsForIsNotCancelled) {
  SimulatedJob job(2);
  job.run([](int rank) {
    int value = rank == 0 ? 7 : 0;
    if (rank == 1) {
      EXPECT_EQ(Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                MPI_SUCCESS);
      EXPECT_EQ(value, 7);
      return;
    }
    pause(SimTime::from_ns(10'000));
    Request request = MPI_REQUEST_NULL;
    Issend(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &request);
    EXPECT_EQ(Cancel(&request), MPI_SUCCESS);
    Status status{};
    EXPECT_EQ(Wait(&request, &status), MPI_SUCCESS);
    EXPECT_FALSE(status.cancelled());
  });
}

}  // namespace
}  // namespace sesame::mpi
