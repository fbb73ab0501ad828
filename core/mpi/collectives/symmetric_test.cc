// The collectives without a root.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "core/mpi/collectives/test_data.h"

namespace sesame::mpi {
namespace {

using namespace testing;

TEST(Barrier, ReleasesNoRankBeforeTheLastHasEntered) {
  for (const int ranks : kRankCounts) {
    SimulatedJob job(ranks);
    const SimTime late = SimTime::from_ns(1'000'000);
    job.run([ranks, late](int rank) {
      if (rank == ranks - 1) self().now += late;
      EXPECT_EQ(Barrier(MPI_COMM_WORLD), MPI_SUCCESS);
      EXPECT_GE(self().now, late);
    });
  }
}

TEST(Allgather, GivesEveryRankAllBlocksInRankOrder) {
  for (const int ranks : kRankCounts) {
    SimulatedJob job(ranks);
    job.run([ranks](int rank) {
      for (const Count count : {0, 1, 50, 2000, 9000}) {
        for (const bool in_place : {false, true}) {
          std::vector<int> mine = values(rank, count);
          std::vector<int> all(static_cast<size_t>(ranks * count), -1);
          if (in_place) std::copy(mine.begin(), mine.end(), all.begin() + rank * count);
          EXPECT_EQ(Allgather(in_place ? MPI_IN_PLACE : mine.data(), count, MPI_INT, all.data(),
                              count, MPI_INT, MPI_COMM_WORLD),
                    MPI_SUCCESS);
          for (int i = 0; i < ranks; ++i) {
            EXPECT_TRUE(std::equal(all.begin() + i * count, all.begin() + (i + 1) * count,
                                   values(i, count).begin()))
                << ranks << " ranks, count " << count << ", block " << i;
          }
        }
      }
    });
  }
}

TEST(Allgather, LeavesTheGapsOfADerivedTypeAlone) {
  for (const int ranks : {3, 8, 11}) {
    SimulatedJob job(ranks);
    job.run([ranks](int rank) {
      const Datatype gapped = make_gapped_type();
      for (const Count count : {Count{2}, Count{20000}}) {
        std::vector<int> mine = values(rank, count);
        std::vector<int> all(static_cast<size_t>(3 * count * ranks), -1);
        EXPECT_EQ(Allgather(mine.data(), count, MPI_INT, all.data(), count, gapped, MPI_COMM_WORLD),
                  MPI_SUCCESS);
        bool right = true;
        for (Count i = 0; i < 3 * count * ranks; ++i) {
          const Count element = i / 3;
          right &= all[static_cast<size_t>(i)] ==
                   (i % 3 == 0 ? value(static_cast<int>(element / count), element % count) : -1);
        }
        EXPECT_TRUE(right);
      }
    });
  }
}

// Rank i has `scale` * (i mod 3) elements; the blocks are in reverse order with gaps.
struct Irregular {
  Irregular(int ranks, int scale) : ranks(ranks), scale(scale) {
    for (int i = 0; i < ranks; ++i) {
      counts.push_back(count(i));
      displacements.push_back(slot() * (ranks - 1 - i));
    }
  }
  int count(int rank) const { return scale * (rank % 3); }
  int slot() const { return 2 * scale + 1; }

  int ranks;
  int scale;
  std::vector<int> counts;
  std::vector<int> displacements;
};

// What every rank has after Allgatherv.
std::vector<int> gathered(const Irregular& blocks) {
  std::vector<int> all(static_cast<size_t>(blocks.slot() * blocks.ranks), -1);
  for (int rank = 0; rank < blocks.ranks; ++rank) {
    std::ranges::copy(values(rank, blocks.count(rank)), all.begin() + blocks.displacements[rank]);
  }
  return all;
}

TEST(Allgatherv, PutsBlocksOfDifferentSizesWhereEveryRankWantsThem) {
  for (const int ranks : kRankCounts) {
    SimulatedJob job(ranks);
    std::map<int, std::vector<int>> expected;
    for (const int scale : {0, 1, 30, 3000, 20000}) expected[scale] = gathered({ranks, scale});
    job.run([&expected, ranks](int rank) {
      for (const auto& [scale, wanted] : expected) {
        for (const bool in_place : {false, true}) {
          const Irregular blocks(ranks, scale);
          std::vector<int> mine = values(rank, blocks.count(rank));
          std::vector<int> all(wanted.size(), -1);
          if (in_place) {
            std::copy(mine.begin(), mine.end(), all.begin() + blocks.displacements[rank]);
          }
          EXPECT_EQ(Allgatherv(in_place ? MPI_IN_PLACE : mine.data(), blocks.count(rank), MPI_INT,
                               all.data(), blocks.counts.data(), blocks.displacements.data(),
                               MPI_INT, MPI_COMM_WORLD),
                    MPI_SUCCESS);
          EXPECT_TRUE(all == wanted) << ranks << " ranks, scale " << scale;
        }
      }
    });
  }
}

// The value at `index` of the block that rank `from` sends to rank `to`.
int pair_value(int from, int to, Count index) { return value(from * 100 + to, index); }

TEST(Alltoall, TransposesTheBlocks) {
  for (const int ranks : kRankCounts) {
    SimulatedJob job(ranks);
    job.run([ranks](int rank) {
      for (const Count count : {0, 1, 64, 65, 500, 8193}) {
        std::vector<int> out;
        std::vector<int> transposed;
        for (int other = 0; other < ranks; ++other) {
          for (Count i = 0; i < count; ++i) {
            out.push_back(pair_value(rank, other, i));
            transposed.push_back(pair_value(other, rank, i));
          }
        }
        for (const bool in_place : {false, true}) {
          std::vector<int> in = in_place ? out : std::vector<int>(out.size(), -1);
          EXPECT_EQ(Alltoall(in_place ? MPI_IN_PLACE : out.data(), count, MPI_INT, in.data(), count,
                             MPI_INT, MPI_COMM_WORLD),
                    MPI_SUCCESS);
          EXPECT_TRUE(in == transposed)
              << ranks << " ranks, count " << count << ", in place " << in_place;
        }
      }
    });
  }
}

TEST(Alltoall, UnderstandsDerivedTypes) {
  for (const int ranks : {3, 9, 16}) {
    SimulatedJob job(ranks);
    job.run([ranks](int rank) {
      const Datatype gapped = make_gapped_type();
      for (const Count count : {Count{3}, Count{100}, Count{9000}}) {
        std::vector<int> out(static_cast<size_t>(3 * count * ranks), -3);
        std::vector<int> in(static_cast<size_t>(count * ranks));
        for (Count i = 0; i < ranks * count; ++i) {
          out[static_cast<size_t>(3 * i)] =
              pair_value(rank, static_cast<int>(i / count), i % count);
        }
        EXPECT_EQ(Alltoall(out.data(), count, gapped, in.data(), count, MPI_INT, MPI_COMM_WORLD),
                  MPI_SUCCESS);
        bool right = true;
        for (Count i = 0; i < ranks * count; ++i) {
          right &= in[static_cast<size_t>(i)] ==
                   pair_value(static_cast<int>(i / count), rank, i % count);
        }
        EXPECT_TRUE(right) << ranks << " ranks, count " << count;
      }
    });
  }
}

// Rank i sends (i + j) mod 4 elements to rank j.
int pair_count(int from, int to) { return (from + to) % 4; }

TEST(Alltoallv, MovesBlocksOfDifferentSizes) {
  for (const int ranks : {1, 2, 3, 8, 17, 40, 70}) {
    SimulatedJob job(ranks);
    job.run([ranks](int rank) {
      for (const bool in_place : {false, true}) {
        std::vector<int> counts;
        std::vector<int> displacements;
        std::vector<int> out(static_cast<size_t>(5 * ranks), -1);
        for (int peer = 0; peer < ranks; ++peer) {
          counts.push_back(pair_count(rank, peer));
          displacements.push_back(5 * peer);
          for (int i = 0; i < pair_count(rank, peer); ++i) {
            out[static_cast<size_t>(5 * peer + i)] = pair_value(rank, peer, i);
          }
        }
        std::vector<int> in(out.size(), -1);
        if (in_place) in = out;
        EXPECT_EQ(Alltoallv(in_place ? MPI_IN_PLACE : out.data(), counts.data(),
                            displacements.data(), MPI_INT, in.data(), counts.data(),
                            displacements.data(), MPI_INT, MPI_COMM_WORLD),
                  MPI_SUCCESS);
        for (int i = 0; i < 5 * ranks; ++i) {
          EXPECT_EQ(in[static_cast<size_t>(i)],
                    i % 5 < pair_count(rank, i / 5) ? pair_value(i / 5, rank, i % 5) : -1);
        }
      }
    });
  }
}

TEST(Alltoallw, GivesEveryBlockItsOwnTypeAndByteDisplacement) {
  for (const int ranks : {1, 2, 5, 8}) {
    SimulatedJob job(ranks);
    job.run([ranks](int rank) {
      const Datatype gapped = make_gapped_type();
      const std::vector<int> counts(static_cast<size_t>(ranks), 2);
      std::vector<int> displacements;
      std::vector<Datatype> out_types;
      std::vector<Datatype> in_types;
      std::vector<int> out(static_cast<size_t>(6 * ranks), -1);
      std::vector<int> in(static_cast<size_t>(6 * ranks), -1);
      for (int peer = 0; peer < ranks; ++peer) {
        displacements.push_back(24 * peer);
        out_types.push_back(peer % 2 == 0 ? MPI_INT : gapped);
        in_types.push_back(peer % 2 == 1 ? MPI_INT : gapped);
        for (int i = 0; i < 2; ++i) {
          out[static_cast<size_t>(6 * peer + i * (peer % 2 == 0 ? 1 : 3))] =
              pair_value(rank, peer, i);
        }
      }
      EXPECT_EQ(
          Alltoallw(out.data(), counts.data(), displacements.data(), out_types.data(), in.data(),
                    counts.data(), displacements.data(), in_types.data(), MPI_COMM_WORLD),
          MPI_SUCCESS);
      for (int peer = 0; peer < ranks; ++peer) {
        for (int i = 0; i < 2; ++i) {
          EXPECT_EQ(in[static_cast<size_t>(6 * peer + i * (peer % 2 == 1 ? 1 : 3))],
                    pair_value(peer, rank, i));
        }
      }
    });
  }
}

}  // namespace
}  // namespace sesame::mpi
