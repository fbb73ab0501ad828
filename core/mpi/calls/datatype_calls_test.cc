#include <gtest/gtest.h>

#include "core/mpi/api.h"
#include "core/mpi/testing/simulated_job.h"

namespace sesame::mpi {
namespace {

// The number of large counts in the type's envelope. Expects that the classic call fails, which
// cannot return them.
Count large_counts_of(Datatype type) {
  int few[3], combiner = 0;
  EXPECT_EQ(Type_get_envelope(type, &few[0], &few[1], &few[2], &combiner), MPI_ERR_TYPE);
  Count integers = 0, addresses = 0, large_counts = 0, types = 0;
  EXPECT_EQ(Type_get_envelope_c(type, &integers, &addresses, &large_counts, &types, &combiner),
            MPI_SUCCESS);
  EXPECT_EQ(addresses, 0);
  return large_counts;
}

// MPI 4.1, section 5.1.13: the numbers of large counts of the _c constructors.
TEST(DatatypeCalls, LargeCountConstructorsRememberTheirArgumentsAsLargeCounts) {
  testing::SimulatedJob job(1);
  job.run([](int) {
    const Count lengths[] = {2, 3}, displacements[] = {0, 40};
    const Datatype kinds[] = {MPI_INT, MPI_DOUBLE};
    const int distributions[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_NONE}, grid[] = {1, 1};
    const int arguments[] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG};
    Datatype type = MPI_DATATYPE_NULL;
    Type_contiguous(3, MPI_INT, &type, true);
    EXPECT_EQ(large_counts_of(type), 1);
    Type_vector(3, 1, 2, MPI_INT, &type, true);
    EXPECT_EQ(large_counts_of(type), 3);
    Type_create_hvector(3, 1, 8, MPI_INT, &type, true);
    EXPECT_EQ(large_counts_of(type), 3);
    Type_indexed(2, lengths, displacements, MPI_INT, &type, true);
    EXPECT_EQ(large_counts_of(type), 5);
    Type_create_hindexed(2, lengths, displacements, MPI_INT, &type, true);
    EXPECT_EQ(large_counts_of(type), 5);
    Type_create_indexed_block(2, 1, displacements, MPI_INT, &type, true);
    EXPECT_EQ(large_counts_of(type), 4);
    Type_create_hindexed_block(2, 1, displacements, MPI_INT, &type, true);
    EXPECT_EQ(large_counts_of(type), 4);
    Type_create_struct(2, lengths, displacements, kinds, &type, true);
    EXPECT_EQ(large_counts_of(type), 5);
    const Count starts[] = {0, 0};
    Type_create_subarray(2, lengths, lengths, starts, MPI_ORDER_C, MPI_INT, &type, true);
    EXPECT_EQ(large_counts_of(type), 6);
    Type_create_resized(MPI_INT, 0, 16, &type, true);
    EXPECT_EQ(large_counts_of(type), 2);
    Type_create_darray(1, 0, 2, lengths, distributions, arguments, grid, MPI_ORDER_C, MPI_INT,
                       &type, true);
    EXPECT_EQ(large_counts_of(type), 2);
  });
}

TEST(DatatypeCalls, ClassicConstructorsRememberTheirArgumentsAsIntegers) {
  testing::SimulatedJob job(1);
  job.run([](int) {
    Datatype type = MPI_DATATYPE_NULL;
    Type_vector(3, 1, 2, MPI_INT, &type, false);
    int integers = 0, addresses = 0, types = 0, combiner = 0;
    EXPECT_EQ(Type_get_envelope(type, &integers, &addresses, &types, &combiner), MPI_SUCCESS);
    EXPECT_EQ(integers, 3);
  });
}

}  // namespace
}  // namespace sesame::mpi
