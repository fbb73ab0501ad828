#include <gtest/gtest.h>

#include <algorithm>

#include "core/mpi/api.h"
#include "core/mpi/communicators/agree.h"
#include "core/mpi/messages/arguments.h"
#include "core/mpi/testing/simulated_job.h"

namespace sesame::mpi {
namespace {

using testing::SimulatedJob;

void on_ranks(int ranks, const std::function<void(int)>& body, int per_node = 1) {
  SimulatedJob job(ranks, testing::kCrossbar, per_node);
  job.run([&](int rank) {
    Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    body(rank);
  });
}

int rank_in(Comm comm) {
  int rank = -1;
  EXPECT_EQ(Comm_rank(comm, &rank), MPI_SUCCESS);
  return rank;
}

int size_of(Comm comm) {
  int size = -1;
  EXPECT_EQ(Comm_size(comm, &size), MPI_SUCCESS);
  return size;
}

// Sends a sum around the ring of ranks; each rank adds its value. Returns the total on rank 0, the
// sum so far on the others.
int sum_around(Comm comm, int value) {
  const int size = size_of(comm), me = rank_in(comm);
  if (size == 1) return value;
  int sum = 0;
  if (me > 0) Recv(&sum, 1, MPI_INT, me - 1, 3, comm, MPI_STATUS_IGNORE);
  sum += value;
  Send(&sum, 1, MPI_INT, (me + 1) % size, 3, comm);
  if (me == 0) Recv(&sum, 1, MPI_INT, size - 1, 3, comm, MPI_STATUS_IGNORE);
  return sum;
}

// No two communicators of the running rank have a context in common.
void expect_distinct_contexts() {
  const ObjectTables& objects = this_rank().objects;
  std::vector<uint32_t> contexts{objects.world->context, objects.self->context};
  objects.comms.visit([&](const CommObject& comm) { contexts.push_back(comm.context); });
  std::sort(contexts.begin(), contexts.end());
  EXPECT_EQ(std::adjacent_find(contexts.begin(), contexts.end()), contexts.end());
}

TEST(ControlGroup, AgreesForAnyNumberOfRanks) {
  for (int ranks = 1; ranks <= 17; ++ranks) {
    on_ranks(ranks, [ranks](int rank) {
      Transfer transfer(*find_comm(this_rank(), MPI_COMM_WORLD), 1);
      ControlGroup control(transfer);
      int values[] = {rank == 1 ? 50 : rank, -rank};
      control.maximum(values);
      EXPECT_EQ(values[0], ranks > 1 ? 50 : 0);
      EXPECT_EQ(values[1], 0);
      const int mine[] = {rank, 10 * rank};
      const SharedListRef gathered = control.gather_to_all(mine);
      const std::vector<int>& all = gathered->values;
      ASSERT_EQ(all.size(), 2u * static_cast<size_t>(ranks));
      for (int i = 0; i < ranks; ++i) {
        EXPECT_EQ(all[2u * static_cast<size_t>(i)], i);
        EXPECT_EQ(all[2u * static_cast<size_t>(i) + 1], 10 * i);
      }
      std::vector<int> list;
      if (rank == ranks / 2) list = {7, 8, 9};
      control.broadcast(list, ranks / 2);
      EXPECT_EQ(list, (std::vector<int>{7, 8, 9}));
      if (rank != ranks / 2) list.clear();
      EXPECT_EQ(control.broadcast_shared(list, ranks / 2)->values, (std::vector<int>{7, 8, 9}));
    });
  }
}

TEST(Comm, SplitSortsByKeyThenRank) {
  on_ranks(7, [](int rank) {
    Comm part;
    // The key is 0 for ranks 0 to 3 and -1 for ranks 4 to 6.
    ASSERT_EQ(Comm_split(MPI_COMM_WORLD, rank % 2, -(rank / 4), &part), MPI_SUCCESS);
    const std::vector<int> even{4, 6, 0, 2}, odd{5, 1, 3};
    const std::vector<int>& order = rank % 2 == 0 ? even : odd;
    EXPECT_EQ(size_of(part), static_cast<int>(order.size()));
    EXPECT_EQ(order[static_cast<size_t>(rank_in(part))], rank);
  });
}

TEST(Comm, SplitGivesRanksWithoutColorNothing) {
  on_ranks(5, [](int rank) {
    Comm part;
    ASSERT_EQ(Comm_split(MPI_COMM_WORLD, rank < 2 ? MPI_UNDEFINED : 0, 0, &part), MPI_SUCCESS);
    if (rank < 2) {
      EXPECT_EQ(part, MPI_COMM_NULL);
    } else {
      EXPECT_EQ(rank_in(part), rank - 2);
    }
    EXPECT_EQ(Comm_split(MPI_COMM_WORLD, -5, 0, &part), MPI_ERR_ARG);
  });
}

TEST(Comm, SplitByNodeFollowsThePlacement) {
  on_ranks(
      7,
      [](int rank) {
        Comm node;
        ASSERT_EQ(Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node),
                  MPI_SUCCESS);
        EXPECT_EQ(size_of(node), rank < 6 ? 3 : 1);
        EXPECT_EQ(rank_in(node), rank % 3);
      },
      3);
}

TEST(Comm, MessagesOfDuplicatesDoNotMix) {
  on_ranks(2, [](int rank) {
    Comm copy;
    ASSERT_EQ(Comm_dup(MPI_COMM_WORLD, &copy), MPI_SUCCESS);
    if (rank == 0) {
      const int first = 1, second = 2;
      Send(&first, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
      Send(&second, 1, MPI_INT, 1, 0, copy);
    } else {
      int value = 0;
      Recv(&value, 1, MPI_INT, 0, 0, copy, MPI_STATUS_IGNORE);
      EXPECT_EQ(value, 2);
      Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      EXPECT_EQ(value, 1);
    }
    int result = 0;
    Comm_compare(copy, MPI_COMM_WORLD, &result);
    EXPECT_EQ(result, MPI_CONGRUENT);
    Comm_free(&copy);
    EXPECT_EQ(copy, MPI_COMM_NULL);
  });
}

// A new communicator must not get a context that one of its members uses already.
TEST(Comm, ContextsStayUniqueAfterUnevenHistories) {
  on_ranks(4, [](int rank) {
    Comm half, all;
    Comm_split(MPI_COMM_WORLD, rank / 2, 0, &half);
    for (int i = 0; i < (rank < 2 ? 5 : 1); ++i) {
      Comm more;
      Comm_dup(half, &more);
    }
    ASSERT_EQ(Comm_dup(MPI_COMM_WORLD, &all), MPI_SUCCESS);
    expect_distinct_contexts();
    EXPECT_EQ(sum_around(all, 1), rank == 0 ? 4 : rank + 1);
  });
}

// Two duplications in progress on overlapping communicators: rank 1 is in both.
TEST(Comm, NonBlockingDuplicatesGetContextsOfTheirOwn) {
  on_ranks(3, [](int rank) {
    Comm left, right;
    Comm_split(MPI_COMM_WORLD, rank <= 1 ? 0 : MPI_UNDEFINED, 0, &left);
    Comm_split(MPI_COMM_WORLD, rank >= 1 ? 0 : MPI_UNDEFINED, 0, &right);
    // Ranks 0 and 2 have used more contexts than rank 1, and equally many, so that their proposals
    // coincide.
    for (int i = 0; i < (rank == 1 ? 0 : 3); ++i) {
      Comm more;
      Comm_dup(MPI_COMM_SELF, &more);
    }
    std::vector<Comm> copies(4, MPI_COMM_NULL);
    std::vector<Request> requests;
    for (size_t i = 0; i < copies.size(); ++i) {
      const Comm parent = i % 2 == 0 ? left : right;
      if (parent == MPI_COMM_NULL) continue;
      requests.push_back(MPI_REQUEST_NULL);
      ASSERT_EQ(Comm_idup(parent, &copies[i], &requests.back()), MPI_SUCCESS);
      EXPECT_NE(copies[i], MPI_COMM_NULL);
    }
    ASSERT_EQ(Waitall(static_cast<Count>(requests.size()), requests.data(), MPI_STATUSES_IGNORE),
              MPI_SUCCESS);
    expect_distinct_contexts();
    for (const Comm copy : copies) {
      if (copy != MPI_COMM_NULL) sum_around(copy, 1);
    }
  });
}

// Every rank has both duplications outstanding at the same time; odd and even ranks start them in
// opposite orders.
TEST(Comm, NonBlockingDuplicatesMayBeginInAnyOrder) {
  on_ranks(4, [](int rank) {
    Comm parents[2], copies[2];
    Comm_dup(MPI_COMM_WORLD, &parents[0]);
    Comm_dup(MPI_COMM_WORLD, &parents[1]);
    Request requests[2];
    const int first = rank % 2;
    Comm_idup(parents[first], &copies[first], &requests[first]);
    Comm_idup(parents[1 - first], &copies[1 - first], &requests[1 - first]);
    // A blocking duplication in between must not wait for them.
    Comm third;
    ASSERT_EQ(Comm_dup(MPI_COMM_WORLD, &third), MPI_SUCCESS);
    ASSERT_EQ(Waitall(2, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    expect_distinct_contexts();
    for (const Comm comm : {copies[0], copies[1], third}) {
      EXPECT_EQ(sum_around(comm, 1), rank == 0 ? 4 : rank + 1);
    }
  });
}

TEST(Comm, CreateTakesDisjointGroupsAndCreateGroupOnlyItsMembers) {
  on_ranks(6, [](int rank) {
    Group world, mine;
    Comm_group(MPI_COMM_WORLD, &world);
    int range[][3] = {{rank < 3 ? 2 : 4, rank < 3 ? 0 : 5, rank < 3 ? -1 : 1}};
    Group_range_incl(world, 1, range, &mine);
    Comm part;
    ASSERT_EQ(Comm_create(MPI_COMM_WORLD, mine, &part), MPI_SUCCESS);
    if (rank == 3) {
      EXPECT_EQ(part, MPI_COMM_NULL);
    } else {
      EXPECT_EQ(rank_in(part), rank < 3 ? 2 - rank : rank - 4);
    }
    if (rank >= 4) {
      Comm pair;
      ASSERT_EQ(Comm_create_group(MPI_COMM_WORLD, mine, 9, &pair), MPI_SUCCESS);
      EXPECT_EQ(sum_around(pair, 5), 10);
    }
  });
}

TEST(Comm, SetsAndGetsNamesAndHints) {
  on_ranks(1, [](int) {
    char name[MPI_MAX_OBJECT_NAME];
    int length = 0;
    Comm_get_name(MPI_COMM_WORLD, name, &length);
    EXPECT_STREQ(name, "MPI_COMM_WORLD");
    Comm_set_name(MPI_COMM_WORLD, std::string(300, 'x').c_str());
    Comm_get_name(MPI_COMM_WORLD, name, &length);
    EXPECT_EQ(length, MPI_MAX_OBJECT_NAME - 1);
    Comm copy = MPI_COMM_WORLD;
    EXPECT_EQ(Comm_free(&copy), MPI_ERR_COMM);
    EXPECT_EQ(Comm_set_name(MPI_COMM_NULL, "n"), MPI_ERR_COMM);
  });
}

TEST(Intercomm, ConnectsTwoGroupsAndMergesThem) {
  on_ranks(5, [](int rank) {
    Comm part, inter, merged;
    const bool low = rank < 2;
    Comm_split(MPI_COMM_WORLD, low ? 0 : 1, -rank, &part);
    // The leaders are the last ranks of each part: ranks 0 and 2 of MPI_COMM_WORLD.
    ASSERT_EQ(Intercomm_create(part, low ? 1 : 2, MPI_COMM_WORLD, low ? 2 : 0, 4, &inter),
              MPI_SUCCESS);
    int flag = 0, remote = 0;
    Comm_test_inter(inter, &flag);
    EXPECT_EQ(flag, 1);
    Comm_remote_size(inter, &remote);
    EXPECT_EQ(remote, low ? 3 : 2);
    EXPECT_EQ(size_of(inter), low ? 2 : 3);
    if (rank_in(inter) == 0) {
      int mine = rank, theirs = -1;
      Sendrecv(&mine, 1, MPI_INT, 0, 1, &theirs, 1, MPI_INT, 0, 1, inter, MPI_STATUS_IGNORE);
      EXPECT_EQ(theirs, low ? 4 : 1);
    }
    ASSERT_EQ(Intercomm_merge(inter, low ? 1 : 0, &merged), MPI_SUCCESS);
    EXPECT_EQ(rank_in(merged), low ? 3 + (1 - rank) : 4 - rank);
    EXPECT_EQ(sum_around(merged, 1), rank_in(merged) == 0 ? 5 : rank_in(merged) + 1);
    EXPECT_EQ(Intercomm_merge(part, 0, &merged), MPI_ERR_COMM);
  });
}

TEST(Intercomm, DuplicatesSplitsAndCreates) {
  on_ranks(6, [](int rank) {
    Comm part, inter, copy, slice, created;
    const bool low = rank < 3;
    Comm_split(MPI_COMM_WORLD, low ? 0 : 1, 0, &part);
    Intercomm_create(part, 0, MPI_COMM_WORLD, low ? 3 : 0, 0, &inter);
    ASSERT_EQ(Comm_dup(inter, &copy), MPI_SUCCESS);
    int result = 0, remote = 0;
    Comm_compare(inter, copy, &result);
    EXPECT_EQ(result, MPI_CONGRUENT);
    // Both groups have color 0, only the low group has color 1.
    ASSERT_EQ(Comm_split(inter, rank == 2 ? 1 : 0, 0, &slice), MPI_SUCCESS);
    if (rank == 2) {
      EXPECT_EQ(slice, MPI_COMM_NULL);
    } else {
      Comm_remote_size(slice, &remote);
      EXPECT_EQ(remote, low ? 3 : 2);
    }
    Group local, pair;
    Comm_group(inter, &local);
    const int chosen[] = {1, 0};
    Group_incl(local, 2, chosen, &pair);
    ASSERT_EQ(Comm_create(inter, pair, &created), MPI_SUCCESS);
    if (rank % 3 == 2) {
      EXPECT_EQ(created, MPI_COMM_NULL);
    } else {
      EXPECT_EQ(rank_in(created), 1 - rank % 3);
    }
  });
}

TEST(Session, MakesCommunicatorsFromProcessSets) {
  on_ranks(4, [](int rank) {
    Session session;
    ASSERT_EQ(Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session), MPI_SUCCESS);
    int sets = 0, length = 0;
    Session_get_num_psets(session, MPI_INFO_NULL, &sets);
    EXPECT_EQ(sets, 2);
    Session_get_nth_pset(session, MPI_INFO_NULL, 0, &length, nullptr);
    std::string name(static_cast<size_t>(length), '#');
    Session_get_nth_pset(session, MPI_INFO_NULL, 0, &length, name.data());
    EXPECT_STREQ(name.c_str(), "mpi://WORLD");
    Group group, half;
    ASSERT_EQ(Group_from_session_pset(session, name.c_str(), &group), MPI_SUCCESS);
    EXPECT_EQ(Group_from_session_pset(session, "mpi://none", &half), MPI_ERR_ARG);
    Comm comm;
    ASSERT_EQ(Comm_create_from_group(group, "org.test", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm),
              MPI_SUCCESS);
    EXPECT_EQ(rank_in(comm), rank);
    Group low, high;
    int first[][3] = {{0, 1, 1}}, second[][3] = {{2, 3, 1}};
    Group_range_incl(group, 1, first, &low);
    Group_range_incl(group, 1, second, &high);
    Comm inter;
    const bool is_low = rank < 2;
    ASSERT_EQ(Intercomm_create_from_groups(is_low ? low : high, is_low ? 0 : 1, is_low ? high : low,
                                           is_low ? 1 : 0, "pair", MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                           &inter),
              MPI_SUCCESS);
    int remote = 0;
    Comm_remote_size(inter, &remote);
    EXPECT_EQ(remote, 2);
    EXPECT_EQ(Session_finalize(&session), MPI_SUCCESS);
    EXPECT_EQ(session, MPI_SESSION_NULL);
  });
}

// A list of members exists only once, however many ranks share it.
TEST(Comm, RanksShareTheListOfMembers) {
  SimulatedJob job(64);
  std::vector<const Members*> lists(64);
  job.run([&](int rank) {
    Comm part;
    Comm_split(MPI_COMM_WORLD, rank % 2, rank, &part);
    lists[static_cast<size_t>(rank)] = find_comm(this_rank(), part)->local.get();
  });
  for (size_t rank = 0; rank < lists.size(); ++rank) EXPECT_EQ(lists[rank], lists[rank % 2]);
  EXPECT_NE(lists[0], lists[1]);
}

}  // namespace
}  // namespace sesame::mpi
