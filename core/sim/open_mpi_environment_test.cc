#include "core/sim/open_mpi_environment.h"

#include <gtest/gtest.h>

#include <string>

namespace sesame::sim {
namespace {

using Texts = std::vector<std::string>;
using std::string_literals::operator""s;

// As a real one shows: mpirun.openmpi -n 2 ./a x "y z" : -n 3 ./b
TEST(OpenMpiVariables, DescribeTheCommandsOfAJob) {
  const StartedProgram programs[] = {{{"./a", "x", "y z"}, 2}, {{"./b"}, 3}};
  EXPECT_EQ(open_mpi_variables(programs, 0, 12),
            (Texts{"OMPI_COMM_WORLD_SIZE=5", "OMPI_UNIVERSE_SIZE=12", "OMPI_NUM_APP_CTX=2",
                   "OMPI_FIRST_RANKS=0 2", "OMPI_APP_CTX_NUM_PROCS=2 3", "OMPI_COMMAND=./a",
                   "OMPI_ARGV=x y z"}));
  EXPECT_EQ(open_mpi_variables(programs, 1, 12).back(), "OMPI_COMMAND=./b");
}

TEST(OpenMpiVariables, GiveEachRankItsPlaceOnItsNode) {
  const int nodes[] = {0, 2, 0, 2, 2};
  const int taken[] = {3, 0};
  const std::vector<RankPlace> places = places_of(nodes, taken);
  EXPECT_EQ(open_mpi_variables(places[2]),
            "OMPI_COMM_WORLD_RANK=2\0OMPI_COMM_WORLD_LOCAL_RANK=1\0"
            "OMPI_COMM_WORLD_LOCAL_SIZE=2\0OMPI_COMM_WORLD_NODE_RANK=4\0"s);
  EXPECT_EQ(open_mpi_variables(places[4]),
            "OMPI_COMM_WORLD_RANK=4\0OMPI_COMM_WORLD_LOCAL_RANK=2\0"
            "OMPI_COMM_WORLD_LOCAL_SIZE=3\0OMPI_COMM_WORLD_NODE_RANK=2\0"s);
}

TEST(OpenMpiVariables, AreKnownByTheirWholeName) {
  EXPECT_TRUE(is_open_mpi_variable("OMPI_COMM_WORLD_RANK=1"));
  EXPECT_FALSE(is_open_mpi_variable("OMPI_COMM_WORLD_RANKS=1"));
  EXPECT_FALSE(is_open_mpi_variable("OMPI_CC=gcc"));
}

}  // namespace
}  // namespace sesame::sim
