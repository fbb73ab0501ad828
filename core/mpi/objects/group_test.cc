#include <gtest/gtest.h>

#include "core/mpi/api.h"
#include "core/mpi/testing/simulated_job.h"

namespace sesame::mpi {
namespace {

using testing::SimulatedJob;

// Runs the body on one rank of eight, with the group of MPI_COMM_WORLD.
void with_world_group(const std::function<void(Group)>& body) {
  SimulatedJob job(8);
  job.run([&](int rank) {
    if (rank != 2) return;
    Group world;
    ASSERT_EQ(Comm_group(MPI_COMM_WORLD, &world), MPI_SUCCESS);
    body(world);
    EXPECT_EQ(Group_free(&world), MPI_SUCCESS);
    EXPECT_EQ(world, MPI_GROUP_NULL);
  });
}

std::vector<int> world_ranks(Group group, Group world) {
  int size = 0;
  EXPECT_EQ(Group_size(group, &size), MPI_SUCCESS);
  std::vector<int> own(static_cast<size_t>(size)), translated(own);
  for (int i = 0; i < size; ++i) own[static_cast<size_t>(i)] = i;
  EXPECT_EQ(Group_translate_ranks(group, size, own.data(), world, translated.data()), MPI_SUCCESS);
  return translated;
}

Group include(Group world, std::vector<int> ranks) {
  Group group = MPI_GROUP_NULL;
  EXPECT_EQ(Group_incl(world, static_cast<int>(ranks.size()), ranks.data(), &group), MPI_SUCCESS);
  return group;
}

TEST(Group, IncludesRanksInTheOrderGiven) {
  with_world_group([](Group world) {
    const Group group = include(world, {5, 2, 7});
    EXPECT_EQ(world_ranks(group, world), (std::vector<int>{5, 2, 7}));
    int mine = -1;
    Group_rank(group, &mine);
    EXPECT_EQ(mine, 1);
  });
}

TEST(Group, ExcludesRanksAndKeepsTheOrderOfTheRest) {
  with_world_group([](Group world) {
    const int out[] = {0, 2, 6};
    Group group;
    ASSERT_EQ(Group_excl(world, 3, out, &group), MPI_SUCCESS);
    EXPECT_EQ(world_ranks(group, world), (std::vector<int>{1, 3, 4, 5, 7}));
    int mine = 0;
    Group_rank(group, &mine);
    EXPECT_EQ(mine, MPI_UNDEFINED);
  });
}

TEST(Group, ExpandsRangesBothWays) {
  with_world_group([](Group world) {
    int ranges[][3] = {{6, 1, -2}, {0, 3, 3}};
    Group group;
    ASSERT_EQ(Group_range_incl(world, 2, ranges, &group), MPI_SUCCESS);
    EXPECT_EQ(world_ranks(group, world), (std::vector<int>{6, 4, 2, 0, 3}));
    ASSERT_EQ(Group_range_excl(world, 2, ranges, &group), MPI_SUCCESS);
    EXPECT_EQ(world_ranks(group, world), (std::vector<int>{1, 5, 7}));
  });
}

TEST(Group, SetOperationsKeepTheOrderThatMpiGives) {
  with_world_group([](Group world) {
    const Group a = include(world, {4, 1, 6});
    const Group b = include(world, {6, 0, 4});
    Group result;
    Group_union(a, b, &result);
    EXPECT_EQ(world_ranks(result, world), (std::vector<int>{4, 1, 6, 0}));
    Group_intersection(a, b, &result);
    EXPECT_EQ(world_ranks(result, world), (std::vector<int>{4, 6}));
    Group_difference(a, b, &result);
    EXPECT_EQ(world_ranks(result, world), (std::vector<int>{1}));
    Group_difference(a, a, &result);
    EXPECT_EQ(result, MPI_GROUP_EMPTY);
  });
}

TEST(Group, ComparesMembersAndOrder) {
  with_world_group([](Group world) {
    int result = -1;
    Group_compare(include(world, {3, 1}), include(world, {3, 1}), &result);
    EXPECT_EQ(result, MPI_IDENT);
    Group_compare(include(world, {3, 1}), include(world, {1, 3}), &result);
    EXPECT_EQ(result, MPI_SIMILAR);
    Group_compare(include(world, {3, 1}), include(world, {3, 2}), &result);
    EXPECT_EQ(result, MPI_UNEQUAL);
    Group_compare(MPI_GROUP_EMPTY, world, &result);
    EXPECT_EQ(result, MPI_UNEQUAL);
  });
}

TEST(Group, TranslatesForeignRanksToUndefinedAndKeepsProcNull) {
  with_world_group([](Group world) {
    const int ranks[] = {1, MPI_PROC_NULL, 3};
    int translated[3];
    ASSERT_EQ(Group_translate_ranks(world, 3, ranks, include(world, {3}), translated), MPI_SUCCESS);
    EXPECT_EQ(translated[0], MPI_UNDEFINED);
    EXPECT_EQ(translated[1], MPI_PROC_NULL);
    EXPECT_EQ(translated[2], 0);
  });
}

TEST(Group, RefusesWrongRanksWithTheirClass) {
  with_world_group([](Group world) {
    Group group;
    const int twice[] = {1, 1};
    EXPECT_EQ(Group_incl(world, 2, twice, &group), MPI_ERR_RANK);
    const int beyond[] = {8};
    EXPECT_EQ(Group_incl(world, 1, beyond, &group), MPI_ERR_RANK);
    int still[][3] = {{0, 3, 0}};
    EXPECT_EQ(Group_range_incl(world, 1, still, &group), MPI_ERR_ARG);
    EXPECT_EQ(Group_size(MPI_GROUP_NULL, nullptr), MPI_ERR_GROUP);
  });
}

TEST(Members, FindRanksInListsThatDoNotAscend) {
  const Members members({7, 3, 9, 0});
  EXPECT_EQ(members.rank_of(9), 2);
  EXPECT_EQ(members.rank_of(0), 3);
  EXPECT_EQ(members.rank_of(1), MPI_UNDEFINED);
  const Members gaps({1, 4, 6});
  EXPECT_EQ(gaps.rank_of(4), 1);
  EXPECT_EQ(gaps.rank_of(5), MPI_UNDEFINED);
}

}  // namespace
}  // namespace sesame::mpi
