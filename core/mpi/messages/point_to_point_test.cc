#include <gtest/gtest.h>

#include "core/mpi/api.h"
#include "core/mpi/messages/waiting.h"
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

TEST(PointToPoint, AMatchedMessageOutlivesTheCommunicatorOfItsProgram) {
  SimulatedJob job(2);
  job.run([](int rank) {
    for (const bool blocking : {true, false}) {
      Comm comm = MPI_COMM_NULL;
      ASSERT_EQ(Comm_dup(MPI_COMM_WORLD, &comm), MPI_SUCCESS);
      if (rank == 0) {
        const int value = 7;
        Send(&value, 1, MPI_INT, 1, 3, comm);
        Comm_free(&comm);
        continue;
      }
      Message message = MPI_MESSAGE_NULL;
      ASSERT_EQ(Mprobe(0, 3, comm, &message, MPI_STATUS_IGNORE), MPI_SUCCESS);
      Comm_free(&comm);
      int value = 0;
      if (blocking) {
        EXPECT_EQ(Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE), MPI_SUCCESS);
      } else {
        Request request = MPI_REQUEST_NULL;
        EXPECT_EQ(Imrecv(&value, 1, MPI_INT, &message, &request), MPI_SUCCESS);
        EXPECT_EQ(Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
      }
      EXPECT_EQ(value, 7);
    }
  });
}

// Blocks the rank for a time.
void pause(SimTime time) {
  Strand& strand = self();
  strand.now += time;
  schedule_wake(strand, strand.now);
  strand.rank->world.executive.block();
}

// The receive overhead in picoseconds does not fit 32 bits. The message must still take its
// latency, whichever side the simulator runs first.
void expect_time_of_message(const std::string& network, int cores) {
  for (const SimTime receiver_pause : {SimTime::zero(), SimTime::from_ns(50'000'000)}) {
    SimulatedJob job(2, network, cores);
    job.run([receiver_pause](int rank) {
      char byte = 0;
      if (rank == 0) {
        Send(&byte, 1, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
      } else {
        const SimTime begin = self().now;
        if (receiver_pause > SimTime::zero()) pause(receiver_pause);
        Recv(&byte, 1, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        // 5 of the 20 ms are the receiver's overhead, after the arrival; a byte takes 1 ns more.
        const SimTime arrival = SimTime::from_ns(15'000'001);
        EXPECT_EQ((self().now - begin).ps(),
                  (later(arrival, receiver_pause) + SimTime::from_ns(5'000'000)).ps());
      }
    });
  }
}

TEST(PointToPoint, LongOverheadsCountInFullBetweenNodesAndInside) {
  const std::string slow =
      "latency = \"20 ms\"\nbandwidth = \"1 GB/s\"\nreceive_overhead = \"5 ms\"\n";
  const std::string fast = "latency = \"1 us\"\nbandwidth = \"1 GB/s\"\n";
  const std::string crossbar = "[topology]\nkind = \"crossbar\"\n";
  expect_time_of_message("[network]\n" + slow + crossbar, 1);
  expect_time_of_message("[node.network]\n" + slow + "[network]\n" + fast + crossbar, 2);
}

// MPI 4.1, section 13.2: a generalised request that was freed is completed by its handle, then its
// function is called.
TEST(PointToPoint, AFreedGeneralisedRequestIsFreedWhenItCompletes) {
  SimulatedJob job(1);
  job.run([](int) {
    static int freed;
    freed = 0;
    int (*const free_function)(void*) = [](void*) {
      ++freed;
      return int{MPI_SUCCESS};
    };
    Request request = MPI_REQUEST_NULL;
    Grequest_start(nullptr, reinterpret_cast<Function>(free_function), nullptr, nullptr, &request);
    const Request operation = request;
    EXPECT_EQ(Request_free(&request), MPI_SUCCESS);
    EXPECT_EQ(request, MPI_REQUEST_NULL);
    EXPECT_EQ(freed, 0);
    EXPECT_EQ(Grequest_complete(operation), MPI_SUCCESS);
    EXPECT_EQ(freed, 1);
    EXPECT_EQ(Grequest_complete(operation), MPI_ERR_REQUEST);
  });
}

// Both ranks fill their buffer with a rendezvous message and receive after they have started the
// flush: a call that waited would wait for ever.
TEST(PointToPoint, AFlushOfTheBufferIsStartedWithoutWaiting) {
  SimulatedJob job(2, testing::kCrossbarWithRendezvous);
  job.run([](int rank) {
    std::vector<char> space(20'000), data(5'000);
    const auto count = static_cast<Count>(data.size());
    ASSERT_EQ(Buffer_attach(space.data(), static_cast<Count>(space.size())), MPI_SUCCESS);
    EXPECT_EQ(Bsend(data.data(), count, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD), MPI_SUCCESS);
    Request request = MPI_REQUEST_NULL;
    ASSERT_EQ(Buffer_iflush(&request), MPI_SUCCESS);
    int flag = 1;
    EXPECT_EQ(mpi::Test(&request, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(flag, 0);
    Recv(data.data(), count, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    EXPECT_EQ(Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_GE(self().now, SimTime::from_ns(7'000));
    void* address = nullptr;
    Count size = 0;
    EXPECT_EQ(Buffer_detach(&address, &size), MPI_SUCCESS);
  });
}

// With 0.3 us of overhead, 1.3 us on the wire and 1 ns per byte, rank 1 has received the first
// message at 1.7 us, and rank 0 knows at 3 us.
TEST(PointToPoint, TheSpaceOfABufferedSendReturnsWhenItsSenderKnows) {
  SimulatedJob job(2);
  job.run([](int rank) {
    std::vector<char> data(100), space(data.size() + MPI_BSEND_OVERHEAD);
    if (rank == 1) {
      for (int i = 0; i < 2; ++i)
        Recv(data.data(), 100, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      return;
    }
    const auto send = [&] { return Bsend(data.data(), 100, MPI_BYTE, 1, 0, MPI_COMM_WORLD); };
    ASSERT_EQ(Buffer_attach(space.data(), static_cast<Count>(space.size())), MPI_SUCCESS);
    EXPECT_EQ(send(), MPI_SUCCESS);
    self().now = SimTime::from_ns(3'000) - SimTime::from_ps(1);
    EXPECT_EQ(send(), MPI_ERR_BUFFER);
    self().now = SimTime::from_ns(3'000);
    EXPECT_EQ(send(), MPI_SUCCESS);
    void* address = nullptr;
    Count size = 0;
    EXPECT_EQ(Buffer_detach(&address, &size), MPI_SUCCESS);
    EXPECT_EQ(self().now, SimTime::from_ns(6'000));
  });
}

// When rank 0 has received 20 messages, one each 100 us, in a loop of only these tests.
template <typename Test>
SimTime time_of_polling(const Test& test) {
  SimTime end;
  SimulatedJob job(2);
  job.run([&](int rank) {
    int value = 0;
    for (int i = 0; i < 20; ++i) {
      if (rank == 1) {
        pause(SimTime::from_ns(100'000));
        Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        continue;
      }
      Request request = MPI_REQUEST_NULL;
      Irecv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &request);
      while (!test(&request)) continue;
    }
    if (rank == 0) end = self().now;
  });
  return end;
}

// A poll that finds something ends the wait, whichever function it is: later idle polls sleep for a
// fraction of their own wait, not of the time since the first poll of the program.
TEST(PointToPoint, EachKindOfTestEndsARowOfIdlePolls) {
  int flag = 0, index = 0;
  const SimTime each = time_of_polling([&](Request* request) {
    mpi::Test(request, &flag, MPI_STATUS_IGNORE);
    return flag != 0;
  });
  const SimTime all = time_of_polling([&](Request* request) {
    Testall(1, request, &flag, MPI_STATUSES_IGNORE);
    return flag != 0;
  });
  const SimTime some = time_of_polling([&](Request* request) {
    int found = 0;
    Testsome(1, request, &found, &index, MPI_STATUSES_IGNORE);
    return found != 0;
  });
  EXPECT_EQ(all.ps(), each.ps());
  EXPECT_EQ(some.ps(), each.ps());
}

// Whether a send of rank 0 to rank 1, which runs `receiver`, is cancelled 100 us after it began.
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
    // The receiver waits for this message instead of the cancelled one.
    if (result) Send(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
  });
  return result;
}

TEST(PointToPoint, AnUnmatchedSendIsCancelled) {
  EXPECT_TRUE(is_cancelled([] {
    int value = 0;
    Recv(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    EXPECT_EQ(value, 7);
  }));
}

TEST(PointToPoint, ASendToNoProcessIsNotCancelled) {
  SimulatedJob job(1);
  job.run([](int) {
    int value = 7;
    Request request = MPI_REQUEST_NULL;
    Isend(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request);
    EXPECT_EQ(Cancel(&request), MPI_SUCCESS);
    Status status{};
    EXPECT_EQ(Wait(&request, &status), MPI_SUCCESS);
    EXPECT_FALSE(status.cancelled());
  });
}

TEST(PointToPoint, ASendThatAMatchedProbeReceivedIsNotCancelled) {
  EXPECT_FALSE(is_cancelled([] {
    Message message = MPI_MESSAGE_NULL;
    Mprobe(0, 0, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    pause(SimTime::from_ns(200'000));
    int value = 0;
    EXPECT_EQ(Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(value, 7);
  }));
}

// Before the message arrives the match of the receive is uncertain, but there is no other message.
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
