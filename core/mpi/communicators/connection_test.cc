#include "core/mpi/communicators/connection.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/mpi/api.h"
#include "core/mpi/testing/simulated_job.h"

namespace sesame::mpi {
namespace {

using testing::SimulatedJob;

void work(int microseconds) { self().now += SimTime::from_ns(microseconds * 1000); }

// The fibers run in the order of their ranks; the requests arrive in the opposite order.
TEST(Connection, AServerAcceptsClientsInTheOrderOfSimulatedTime) {
  SimulatedJob job(4);
  char port[MPI_MAX_PORT_NAME] = "";
  std::vector<int> accepted;
  job.run([&](int rank) {
    if (rank == 0) {
      ASSERT_EQ(Open_port(MPI_INFO_NULL, port), MPI_SUCCESS);
    }
    Barrier(MPI_COMM_WORLD);
    Comm inter;
    if (rank > 0) {
      work(1000 * (4 - rank));
      ASSERT_EQ(Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter), MPI_SUCCESS);
      Send(&rank, 1, MPI_INT, 0, 0, inter);
      return;
    }
    for (int i = 1; i < 4; ++i) {
      int client = 0;
      ASSERT_EQ(Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter), MPI_SUCCESS);
      Recv(&client, 1, MPI_INT, 0, 0, inter, MPI_STATUS_IGNORE);
      accepted.push_back(client);
      EXPECT_GT(self().now, SimTime::from_ns(1000000 * i));
      EXPECT_LT(self().now, SimTime::from_ns(1000000 * i + 500000));
    }
  });
  EXPECT_EQ(accepted, (std::vector<int>{3, 2, 1}));
}

TEST(Connection, ANameIsSeenFromTheTimeOfItsPublication) {
  SimulatedJob job(3);
  std::vector<int> outcomes(3);
  job.run([&](int rank) {
    char found[MPI_MAX_PORT_NAME];
    work(rank == 0 ? 500 : rank == 1 ? 0 : 1000);
    outcomes[static_cast<size_t>(rank)] = rank == 0
                                              ? Publish_name("service", MPI_INFO_NULL, "some port")
                                              : Lookup_name("service", MPI_INFO_NULL, found);
    if (rank == 2) {
      EXPECT_STREQ(found, "some port");
    }
  });
  EXPECT_EQ(outcomes, (std::vector<int>{MPI_SUCCESS, MPI_ERR_NAME, MPI_SUCCESS}));
}

TEST(Connection, WrongPortsAndNamesAreErrors) {
  SimulatedJob job(2);
  job.run([](int rank) {
    char port[MPI_MAX_PORT_NAME] = "";
    Comm inter;
    if (rank == 0) Open_port(MPI_INFO_NULL, port);
    Bcast(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, MPI_COMM_WORLD);
    EXPECT_EQ(Comm_connect("sesame-port-99", MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter),
              MPI_ERR_PORT);
    EXPECT_EQ(inter, MPI_COMM_NULL);
    // A connection to the root's own port, and an accept at another rank's port: all ranks get the
    // root's error.
    EXPECT_EQ(Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter), MPI_ERR_PORT);
    EXPECT_EQ(Comm_accept(port, MPI_INFO_NULL, 1, MPI_COMM_WORLD, &inter), MPI_ERR_PORT);
    EXPECT_EQ(Comm_accept(port, MPI_INFO_NULL, 2, MPI_COMM_WORLD, &inter), MPI_ERR_ROOT);
    EXPECT_EQ(Unpublish_name("nothing", MPI_INFO_NULL, port), MPI_ERR_SERVICE);
    Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
      EXPECT_EQ(Close_port(port), MPI_SUCCESS);
    }
    Barrier(MPI_COMM_WORLD);
    EXPECT_EQ(Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter), MPI_ERR_PORT);
  });
}

}  // namespace
}  // namespace sesame::mpi
