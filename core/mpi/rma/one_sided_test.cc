// What one-sided operations do, in which order, and what they refuse.
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "core/mpi/api.h"
#include "core/mpi/messages/waiting.h"
#include "core/mpi/rma/window.h"
#include "core/mpi/testing/simulated_job.h"

namespace sesame::mpi {
namespace {

using testing::SimulatedJob;

void pause(int64_t ns) {
  Strand& strand = self();
  strand.now += SimTime::from_ns(ns);
  schedule_wake(strand, strand.now);
  strand.rank->world.executive.block();
}

// All ranks that call it resume at the same time.
void align() { pause(1'000'000 - self().now.ps() / 1000); }

Win make_window(void* base, size_t bytes, Aint unit = 1) {
  Win win = MPI_WIN_NULL;
  EXPECT_EQ(Win_create(base, static_cast<Aint>(bytes), unit, MPI_INFO_NULL, MPI_COMM_WORLD, &win),
            MPI_SUCCESS);
  return win;
}

// The higher the number of a rank, the earlier it accesses the counter.
TEST(OneSided, AtomicsHappenInOrderOfSimulatedTime) {
  SimulatedJob job(5);
  job.run([](int rank) {
    long counter = 0;
    Win win = make_window(&counter, sizeof(counter));
    Win_lock_all(0, win);
    Barrier(MPI_COMM_WORLD);
    pause(10'000 * (5 - rank));
    const long one = 1;
    long before = -1;
    Fetch_and_op(&one, &before, MPI_LONG, 0, 0, MPI_SUM, win);
    Win_flush(0, win);
    EXPECT_EQ(before, 4 - rank);
    Win_unlock_all(win);
    Win_free(&win);
  });
}

TEST(OneSided, LocksAreGrantedFirstComeFirstServed) {
  std::vector<int> order;
  SimulatedJob job(4);
  job.run([&](int rank) {
    Win win = make_window(nullptr, 0);
    align();
    pause(1000 * (10 - rank));
    Win_lock(rank == 1 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, 0, 0, win);
    order.push_back(rank);
    pause(50'000);
    Win_unlock(0, win);
    Win_free(&win);
  });
  EXPECT_EQ(order, (std::vector{3, 2, 1, 0}));
}

TEST(OneSided, SharedLocksAreHeldTogether) {
  SimTime last;
  SimulatedJob job(4);
  job.run([&](int) {
    Win win = make_window(nullptr, 0);
    const SimTime begin = self().now;
    Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    pause(50'000);
    last = later(last, self().now - begin);
    Win_unlock(0, win);
    Win_free(&win);
  });
  EXPECT_LT(last, SimTime::from_ns(60'000));
}

// An accumulation of a derived type on both sides, with gaps that must stay as they are.
TEST(OneSided, AccumulatesWorkElementByElement) {
  SimulatedJob job(3);
  job.run([](int rank) {
    std::array<int, 9> memory{10, 11, 12, 13, 14, 15, 16, 17, 18};
    Win win = make_window(memory.data(), sizeof(memory), sizeof(int));
    Datatype every_third;
    Type_vector(3, 1, 3, MPI_INT, &every_third, false);
    Type_commit(&every_third);
    const std::array<int, 3> mine{1, 2, 3};
    std::array<int, 3> before{};
    Win_fence(0, win);
    if (rank != 0) {
      Accumulate(mine.data(), 3, MPI_INT, 0, 1, 1, every_third, MPI_SUM, win);
    }
    Win_fence(0, win);
    if (rank == 0) {
      EXPECT_EQ(memory, (std::array<int, 9>{10, 13, 12, 13, 18, 15, 16, 23, 18}));
    }
    Win_fence(0, win);
    if (rank == 2) {
      Get_accumulate(mine.data(), 3, MPI_INT, before.data(), 3, MPI_INT, 0, 1, 1, every_third,
                     MPI_REPLACE, win);
    }
    Win_fence(0, win);
    if (rank == 2) {
      EXPECT_EQ(before, (std::array<int, 3>{13, 18, 23}));
    }
    if (rank == 0) {
      EXPECT_EQ(memory, (std::array<int, 9>{10, 1, 12, 13, 2, 15, 16, 3, 18}));
    }
    Type_free(&every_third);
    Win_free(&win);
  });
}

TEST(OneSided, PairsAreReducedInTheirOwnLayout) {
  SimulatedJob job(3);
  job.run([](int rank) {
    struct Pair {
      double value;
      int index;
    };
    std::array<Pair, 2> best{{{-1, -1}, {-1, -1}}};
    Win win = make_window(best.data(), sizeof(best), sizeof(Pair));
    const std::array<Pair, 2> mine{{{1.0 + rank, rank}, {9.0 - rank, rank}}};
    Win_fence(0, win);
    Accumulate(mine.data(), 2, MPI_DOUBLE_INT, 0, 0, 2, MPI_DOUBLE_INT, MPI_MAXLOC, win);
    Win_fence(0, win);
    if (rank == 0) {
      EXPECT_EQ(best[0].value, 3);
      EXPECT_EQ(best[0].index, 2);
      EXPECT_EQ(best[1].value, 9);
      EXPECT_EQ(best[1].index, 0);
    }
    Win_free(&win);
  });
}

TEST(OneSided, ThePutTakesItsDataWhenItIsCalled) {
  SimulatedJob job(2);
  job.run([](int rank) {
    int memory = 0;
    Win win = make_window(&memory, sizeof(memory));
    Win_lock_all(0, win);
    if (rank == 0) {
      int value = 5;
      Put(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
      Win_flush_local(1, win);
      value = 6;
    }
    Win_unlock_all(win);
    Barrier(MPI_COMM_WORLD);
    EXPECT_EQ(memory, rank == 1 ? 5 : 0);
    Win_free(&win);
  });
}

TEST(OneSided, AccessesOutsideTheWindowAreErrors) {
  SimulatedJob job(2);
  job.run([](int) {
    std::array<int, 4> memory{};
    const int value = 1;
    Win win = make_window(memory.data(), sizeof(memory), sizeof(int));
    Win_fence(0, win);
    EXPECT_EQ(Put(&value, 1, MPI_INT, 1, 3, 1, MPI_INT, win), MPI_SUCCESS);
    EXPECT_EQ(Put(&value, 1, MPI_INT, 1, 4, 1, MPI_INT, win), MPI_ERR_RMA_RANGE);
    EXPECT_EQ(self().rank->errors.detail, "bytes 16 to 19 of a window that has 16 bytes at rank 1");
    EXPECT_EQ(Put(&value, 1, MPI_INT, 1, -1, 1, MPI_INT, win), MPI_ERR_DISP);
    EXPECT_EQ(Put(&value, 1, MPI_INT, 2, 0, 1, MPI_INT, win), MPI_ERR_RANK);
    EXPECT_EQ(Put(&value, 1, MPI_INT, 1, 0, 1, MPI_DATATYPE_NULL, win), MPI_ERR_TYPE);
    EXPECT_EQ(Put(&value, 1, MPI_INT, 1, 0, 1, MPI_SHORT, win), MPI_ERR_TRUNCATE);
    EXPECT_EQ(Put(&value, 1, MPI_INT, MPI_PROC_NULL, -7, 1, MPI_INT, win), MPI_SUCCESS);
    EXPECT_EQ(Accumulate(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_OP_NULL, win), MPI_ERR_OP);
    EXPECT_EQ(Accumulate(&value, 1, MPI_FLOAT, 1, 0, 1, MPI_FLOAT, MPI_BAND, win), MPI_ERR_OP);
    EXPECT_EQ(Put(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_WIN_NULL), MPI_ERR_WIN);
    Win_fence(0, win);
    Win_free(&win);
  });
}

TEST(OneSided, EpochsAreChecked) {
  SimulatedJob job(2);
  job.run([](int rank) {
    int memory = 0;
    Win win = make_window(&memory, sizeof(memory));
    EXPECT_EQ(Put(&rank, 1, MPI_INT, 1, 0, 1, MPI_INT, win), MPI_ERR_RMA_SYNC);
    EXPECT_EQ(Win_unlock(0, win), MPI_ERR_RMA_SYNC);
    EXPECT_EQ(Win_complete(win), MPI_ERR_RMA_SYNC);
    EXPECT_EQ(Win_wait(win), MPI_ERR_RMA_SYNC);
    EXPECT_EQ(Win_flush(0, win), MPI_ERR_RMA_SYNC);
    EXPECT_EQ(Win_lock(5, 0, 0, win), MPI_ERR_LOCKTYPE);
    EXPECT_EQ(Win_lock(MPI_LOCK_SHARED, 0, 1, win), MPI_ERR_ASSERT);
    EXPECT_EQ(Win_lock(MPI_LOCK_SHARED, 0, 0, win), MPI_SUCCESS);
    EXPECT_EQ(Win_lock(MPI_LOCK_SHARED, 0, 0, win), MPI_ERR_RMA_SYNC);
    EXPECT_EQ(Win_fence(0, win), MPI_ERR_RMA_SYNC);
    EXPECT_EQ(Win_free(&win), MPI_ERR_RMA_SYNC);
    int value = 0;
    EXPECT_EQ(Get(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, win), MPI_ERR_RMA_SYNC);
    EXPECT_EQ(Win_unlock(0, win), MPI_SUCCESS);
    Win_fence(0, win);
    Request request = MPI_REQUEST_NULL;
    EXPECT_EQ(Rput(&rank, 1, MPI_INT, 1, 0, 1, MPI_INT, win, &request), MPI_ERR_RMA_SYNC);
    EXPECT_EQ(Put(&rank, 1, MPI_INT, 1, 0, 1, MPI_INT, win), MPI_SUCCESS);
    EXPECT_EQ(Win_lock(MPI_LOCK_SHARED, 0, 0, win), MPI_ERR_RMA_SYNC);
    Win_fence(MPI_MODE_NOSUCCEED, win);
    EXPECT_EQ(Win_free(&win), MPI_SUCCESS);
  });
}

TEST(OneSided, DynamicWindowsHaveTheMemoryThatIsAttached) {
  SimulatedJob job(2);
  job.run([](int rank) {
    std::array<int, 4> memory{1, 2, 3, 4};
    Win win = MPI_WIN_NULL;
    ASSERT_EQ(Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win), MPI_SUCCESS);
    EXPECT_EQ(Win_attach(win, memory.data(), 8), MPI_SUCCESS);
    EXPECT_EQ(Win_attach(win, memory.data() + 1, 8), MPI_ERR_RMA_ATTACH);
    std::array<int, 2> adjacent{};
    EXPECT_EQ(Win_attach(win, &adjacent[0], 4), MPI_SUCCESS);
    EXPECT_EQ(Win_attach(win, &adjacent[1], 4), MPI_SUCCESS);
    EXPECT_EQ(Win_detach(win, memory.data() + 1), MPI_ERR_RMA_ATTACH);
    std::array<Aint, 2> addresses{};
    const Aint mine = reinterpret_cast<Aint>(memory.data());
    Allgather(&mine, 1, MPI_AINT, addresses.data(), 1, MPI_AINT, MPI_COMM_WORLD);
    const Aint theirs = addresses[static_cast<size_t>(1 - rank)];
    Win_lock_all(0, win);
    int value = 0;
    EXPECT_EQ(Get(&value, 1, MPI_INT, 1 - rank, theirs + 8, 1, MPI_INT, win), MPI_ERR_RMA_RANGE);
    EXPECT_EQ(Get(&value, 1, MPI_INT, 1 - rank, theirs + 4, 1, MPI_INT, win), MPI_SUCCESS);
    Win_unlock_all(win);
    EXPECT_EQ(value, 2);
    const Aint both = reinterpret_cast<Aint>(adjacent.data());
    Win_lock_all(0, win);
    EXPECT_EQ(Put(memory.data(), 2, MPI_INT, rank, both, 2, MPI_INT, win), MPI_SUCCESS);
    Win_unlock_all(win);
    EXPECT_EQ(adjacent, (std::array<int, 2>{1, 2}));
    Barrier(MPI_COMM_WORLD);
    EXPECT_EQ(Win_detach(win, memory.data()), MPI_SUCCESS);
    Win other = make_window(memory.data(), sizeof(memory));
    EXPECT_EQ(Win_attach(other, memory.data(), 8), MPI_ERR_RMA_FLAVOR);
    Win_free(&other);
    Win_free(&win);
  });
}

TEST(OneSided, OnlyRanksOfOneNodeShareMemory) {
  SimulatedJob separate_nodes(2);
  separate_nodes.run([](int) {
    void* base = nullptr;
    Win win = MPI_WIN_NULL;
    EXPECT_EQ(Win_allocate_shared(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win),
              MPI_ERR_RMA_SHARED);
  });
  SimulatedJob one_node(3, testing::kCrossbar, 3);
  one_node.run([](int rank) {
    char* base = nullptr;
    Win win = MPI_WIN_NULL;
    ASSERT_EQ(Win_allocate_shared(rank == 0 ? 0 : 8 * rank, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base,
                                  &win),
              MPI_SUCCESS);
    char* first = nullptr;
    Aint size = 0;
    Aint unit = 0;
    EXPECT_EQ(Win_shared_query(win, MPI_PROC_NULL, &size, &unit, &first), MPI_SUCCESS);
    EXPECT_EQ(size, 8);
    EXPECT_EQ(unit, 4);
    EXPECT_EQ(base, first + (rank == 2 ? 8 : 0));
    Win_free(&win);
  });
}

TEST(OneSided, ADeadlockNamesWhoHoldsTheLock) {
  SimulatedJob job(3);
  job.run_until_abort([](int rank) {
    Win win = make_window(nullptr, 0);
    if (rank == 1) Win_lock(MPI_LOCK_EXCLUSIVE, 2, 0, win);
    Barrier(MPI_COMM_WORLD);
    if (rank == 0) Win_lock(MPI_LOCK_SHARED, 2, 0, win);
    int value;
    if (rank == 1) Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  });
  const RequestObject* request = job.world().ranks[0]->main.waiting_request;
  ASSERT_NE(request, nullptr);
  ASSERT_NE(request->comm->window, nullptr);
  EXPECT_EQ(describe_wait(*request->comm->window, *request),
            " waits for the lock of rank 2, which rank 1 holds");
  EXPECT_EQ(rank_waited_for(*request->comm->window, *request), 1);
}

TEST(OneSided, ADeadlockNamesTheMissingPost) {
  SimulatedJob job(2);
  job.run_until_abort([](int rank) {
    Win win = make_window(nullptr, 0);
    Group world;
    Comm_group(MPI_COMM_WORLD, &world);
    if (rank == 0) Win_start(world, 0, win);
  });
  const RequestObject* request = job.world().ranks[0]->main.waiting_request;
  ASSERT_NE(request, nullptr);
  EXPECT_EQ(describe_wait(*request->comm->window, *request),
            " waits for rank 1 to call "
            "MPI_Win_post");
}

TEST(OneSided, BytesAndPeersAreCounted) {
  SimulatedJob job(2);
  job.run([](int rank) {
    std::vector<char> memory(100);
    Win win = make_window(memory.data(), memory.size());
    std::vector<char> data(60);
    Win_lock_all(0, win);
    if (rank == 0) {
      Put(data.data(), 60, MPI_BYTE, 1, 0, 60, MPI_BYTE, win);
      EXPECT_EQ(self().rank->call_bytes, 60u);
      EXPECT_EQ(self().rank->call_peer, 1);
      Get(data.data(), 40, MPI_BYTE, 1, 0, 40, MPI_BYTE, win);
      EXPECT_EQ(self().rank->call_bytes, 40u);
    }
    Win_unlock_all(win);
    Win_free(&win);
  });
  const World& world = job.world();
  EXPECT_EQ(world.sizes[6].bytes, 100u);  // 32 to 63 bytes
  EXPECT_EQ(world.sizes[6].count, 2u);
}

}  // namespace
}  // namespace sesame::mpi
