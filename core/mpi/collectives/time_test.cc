// Simulated times against the closed forms of docs/models/collectives.md, with the algorithms that
// MPICH chooses. On the test crossbar a message of m bytes takes T(m) = 2 us + m * 1 ns from the
// send to the end of the receive. A rank injects messages max(0.3 us, m * 1 ns) apart. Completing a
// receive takes 0.4 us.
#include <gtest/gtest.h>

#include "core/mpi/collectives/time_data.h"

namespace sesame::mpi {
namespace {

using namespace testing;

TEST(TimeOfBarrier, IsARoundForEachDoublingOfDistance) {
  for (const int ranks : {2, 3, 8, 13, 64, 100}) {
    expect_time(measured_ns(ranks, [](int) { Barrier(kWorld); }), log2_ceil(ranks) * kLatency,
                describe(ranks, 0));
  }
}

double bcast_ns(int ranks, Count bytes) {
  return measured_ns(ranks, [bytes](int) {
    std::vector<char> data(static_cast<size_t>(bytes));
    Bcast(data.data(), bytes, MPI_BYTE, 0, kWorld);
  });
}

TEST(TimeOfBcast, IsThatOfABinomialTreeWhenShort) {
  for (const int ranks : {2, 4, 16, 64, 256}) {
    for (const Count bytes : {1, 8, 1000, 12288}) {
      expect_time(bcast_ns(ranks, bytes), log2_ceil(ranks) * message(static_cast<double>(bytes)),
                  describe(ranks, bytes));
    }
  }
}

TEST(TimeOfBcast, IsThatOfScatterAndRecursiveDoublingWhenLonger) {
  for (const int ranks : {8, 16, 64}) {
    for (const Count bytes : {16384, 524288}) {
      const double share = (ranks - 1.0) / ranks * static_cast<double>(bytes);
      expect_time(bcast_ns(ranks, bytes), 2 * (log2_ceil(ranks) * kLatency + share),
                  describe(ranks, bytes));
    }
  }
}

TEST(TimeOfBcast, IsThatOfScatterAndRingWhenLongest) {
  for (const int ranks : {8, 16}) {
    const Count bytes = 1 << 20;
    const double share = (ranks - 1.0) / ranks * static_cast<double>(bytes);
    expect_time(bcast_ns(ranks, bytes), (log2_ceil(ranks) + ranks - 1) * kLatency + 2 * share,
                describe(ranks, bytes));
  }
}

TEST(TimeOfGatherAndScatter, IsThatOfABinomialTree) {
  for (const int ranks : {2, 8, 64}) {
    for (const Count bytes : {8, 1000, 20000}) {
      const double expected =
          log2_ceil(ranks) * kLatency + (ranks - 1.0) * static_cast<double>(bytes);
      std::vector<char> all(static_cast<size_t>(ranks * bytes));
      const double gather = measured_ns(ranks, [&all, bytes](int) {
        std::vector<char> mine(static_cast<size_t>(bytes));
        Gather(mine.data(), bytes, MPI_BYTE, all.data(), bytes, MPI_BYTE, 0, kWorld);
      });
      const double scatter = measured_ns(ranks, [&all, bytes](int) {
        std::vector<char> mine(static_cast<size_t>(bytes));
        Scatter(all.data(), bytes, MPI_BYTE, mine.data(), bytes, MPI_BYTE, 0, kWorld);
      });
      expect_time(gather, expected, "gather, " + describe(ranks, bytes));
      expect_time(scatter, expected, "scatter, " + describe(ranks, bytes));
    }
  }
}

TEST(TimeOfGathervAndScatterv, GrowsWithEveryRank) {
  for (const int ranks : {2, 9, 40}) {
    for (const int bytes : {8, 1000}) {
      const std::vector<int> counts(static_cast<size_t>(ranks), bytes);
      std::vector<int> places;
      for (int i = 0; i < ranks; ++i) places.push_back(i * bytes);
      std::vector<char> all(static_cast<size_t>(ranks * bytes));
      const double gather = measured_ns(ranks, [&](int) {
        std::vector<char> mine(static_cast<size_t>(bytes));
        Gatherv(mine.data(), bytes, MPI_BYTE, all.data(), counts.data(), places.data(), MPI_BYTE, 0,
                kWorld);
      });
      const double scatter = measured_ns(ranks, [&](int) {
        std::vector<char> mine(static_cast<size_t>(bytes));
        Scatterv(all.data(), counts.data(), places.data(), MPI_BYTE, mine.data(), bytes, MPI_BYTE,
                 0, kWorld);
      });
      expect_time(gather, message(bytes) + (ranks - 2) * kReceiveOverhead,
                  "gatherv, " + describe(ranks, bytes));
      expect_time(scatter, message(bytes) + (ranks - 2) * apart(bytes),
                  "scatterv, " + describe(ranks, bytes));
    }
  }
}

double allgather_ns(int ranks, Count bytes) {
  return measured_ns(ranks, [ranks, bytes](int) {
    std::vector<char> mine(static_cast<size_t>(bytes));
    std::vector<char> all(static_cast<size_t>(ranks * bytes));
    Allgather(mine.data(), bytes, MPI_BYTE, all.data(), bytes, MPI_BYTE, kWorld);
  });
}

TEST(TimeOfAllgather, IsThatOfDoublingRoundsWhenShort) {
  // Recursive doubling for powers of two, Bruck for other numbers; the closed form is the same.
  for (const int ranks : {2, 3, 7, 16, 50, 128}) {
    for (const Count bytes : {8, 1000}) {
      expect_time(allgather_ns(ranks, bytes),
                  log2_ceil(ranks) * kLatency + (ranks - 1.0) * static_cast<double>(bytes),
                  describe(ranks, bytes));
    }
  }
}

TEST(TimeOfAllgather, IsThatOfARingWhenLong) {
  for (const int ranks : {3, 8, 11}) {
    expect_time(allgather_ns(ranks, 200'000), (ranks - 1) * message(200'000),
                describe(ranks, 200'000));
  }
}

TEST(TimeOfAllgatherv, IsThatOfARingOfSegmentsWhenLong) {
  const int ranks = 7;
  const int bytes = 4 * 32768;
  std::vector<int> counts(ranks, bytes);
  std::vector<int> places;
  for (int i = 0; i < ranks; ++i) places.push_back(i * bytes);
  const double measured = measured_ns(ranks, [&](int) {
    std::vector<char> mine(bytes);
    std::vector<char> all(static_cast<size_t>(ranks * bytes));
    Allgatherv(mine.data(), bytes, MPI_BYTE, all.data(), counts.data(), places.data(), MPI_BYTE,
               kWorld);
  });
  expect_time(measured, (ranks - 1) * 4 * message(32768), describe(ranks, bytes));
}

double alltoall_ns(int ranks, Count bytes) {
  return measured_ns(ranks, [ranks, bytes](int) {
    std::vector<char> out(static_cast<size_t>(ranks * bytes));
    std::vector<char> in(static_cast<size_t>(ranks * bytes));
    Alltoall(out.data(), bytes, MPI_BYTE, in.data(), bytes, MPI_BYTE, kWorld);
  });
}

TEST(TimeOfAlltoall, IsThatOfBrucksRoundsWhenShort) {
  for (const int ranks : {8, 11, 64, 100}) {
    for (const Count bytes : {1, 64, 256}) {
      double expected = 0;
      for (int bit = 1; bit < ranks; bit *= 2) {
        int moved = 0;
        for (int i = 0; i < ranks; ++i) moved += (i & bit) != 0;
        expected += message(static_cast<double>(moved * bytes));
      }
      expect_time(alltoall_ns(ranks, bytes), expected, describe(ranks, bytes));
    }
  }
}

TEST(TimeOfAlltoall, IsThatOfBatchesOfMessagesWhenLonger) {
  for (const int ranks : {4, 16, 32, 80}) {
    for (const Count bytes : {1000, 32768}) {
      double expected = 0;
      for (int begin = 0; begin < ranks; begin += 32) {
        const int batch = std::min(32, ranks - begin);  // the first one contains the rank itself
        expected +=
            message(static_cast<double>(bytes)) + (batch - 1) * apart(static_cast<double>(bytes));
      }
      expect_time(alltoall_ns(ranks, bytes), expected, describe(ranks, bytes));
    }
  }
}

// By MPICH: over the network inside a node. Open MPI copies it.
TEST(TimeOfAlltoall, HasTheOwnBlockAsAMessageToItself) {
  const std::string machine =
      "[node.network]\nlatency = \"1 us\"\nbandwidth = \"2 GB/s\"\n" + std::string(kCrossbar);
  const auto exchanged_ns = [&machine](int own, int other, bool open_mpi) {
    SimulatedJob job(2, machine);
    job.world().open_mpi_collectives = open_mpi;
    const SimTime end = job.run([&](int rank) {
      const std::vector<int> counts = rank == 0 ? std::vector{own, other} : std::vector{other, own};
      const std::vector<int> places = {0, 100'000};
      std::vector<char> out(200'000), in(200'000);
      EXPECT_EQ(Alltoallv(out.data(), counts.data(), places.data(), MPI_BYTE, in.data(),
                          counts.data(), places.data(), MPI_BYTE, kWorld),
                MPI_SUCCESS);
    });
    return static_cast<double>(end.ps()) / 1000;
  };
  expect_time(exchanged_ns(100'000, 0, false), 1000 + 50'000, "to itself");
  expect_time(exchanged_ns(0, 100'000, false), message(100'000), "to the other");
  // Without node.copy_bandwidth a copy takes no time. Blocks to others are sent also when empty.
  expect_time(exchanged_ns(100'000, 0, true), message(0), "copied");
}

TEST(TimeOfAlltoall, IsThatOfPairwiseStepsWhenLong) {
  for (const int ranks : {4, 7, 16}) {
    expect_time(alltoall_ns(ranks, 50'000), (ranks - 1) * message(50'000), describe(ranks, 50'000));
  }
}

double reduce_ns(int ranks, Count bytes, Op op) {
  return measured_ns(ranks, [bytes, op](int) {
    std::vector<char> in(static_cast<size_t>(bytes));
    std::vector<char> out(static_cast<size_t>(bytes));
    Reduce(in.data(), out.data(), bytes, MPI_SIGNED_CHAR, op, 0, kWorld);
  });
}

double allreduce_ns(int ranks, Count bytes, Op op) {
  return measured_ns(ranks, [bytes, op](int) {
    std::vector<char> in(static_cast<size_t>(bytes));
    std::vector<char> out(static_cast<size_t>(bytes));
    Allreduce(in.data(), out.data(), bytes, MPI_SIGNED_CHAR, op, kWorld);
  });
}

TEST(TimeOfReduce, IsThatOfABinomialTreeWhenShort) {
  for (const int ranks : {2, 16, 128}) {
    for (const Count bytes : {1, 2048}) {
      expect_time(reduce_ns(ranks, bytes, MPI_SUM),
                  log2_ceil(ranks) * message(static_cast<double>(bytes)), describe(ranks, bytes));
    }
  }
}

TEST(TimeOfReduceAndAllreduce, IsThatOfHalvingAndDoublingWhenLong) {
  for (const int ranks : {2, 16, 128}) {
    for (const Count bytes : {4096, 1 << 20}) {
      const double expected =
          2 * (log2_ceil(ranks) * kLatency + (ranks - 1.0) / ranks * static_cast<double>(bytes));
      expect_time(reduce_ns(ranks, bytes, MPI_SUM), expected, "reduce, " + describe(ranks, bytes));
      expect_time(allreduce_ns(ranks, bytes, MPI_SUM), expected,
                  "allreduce, " + describe(ranks, bytes));
    }
  }
}

TEST(TimeOfAllreduce, IsThatOfRecursiveDoublingWhenShort) {
  for (const int ranks : {2, 16, 1024}) {
    expect_time(allreduce_ns(ranks, 8, MPI_SUM), log2_ceil(ranks) * message(8), describe(ranks, 8));
  }
  // If the number of ranks is not a power of two, some ranks first send their vector to a core rank
  // and receive the result at the end. Both steps add to the time only if more than half of the
  // core ranks have such a neighbour.
  for (const int ranks : {7, 13, 100}) {
    expect_time(allreduce_ns(ranks, 8, MPI_SUM), (log2_floor(ranks) + 2) * message(8),
                describe(ranks, 8));
  }
  expect_time(allreduce_ns(17, 8, MPI_SUM), (log2_floor(17) + 1) * message(8), describe(17, 8));
}

double reduce_scatter_ns(int ranks, Count block, bool ordered) {
  return measured_ns(ranks, [ranks, block, ordered](int) {
    const Op op = ordered ? make_op(compose, false) : MPI_SUM;
    const Datatype type = ordered ? make_affine_type() : MPI_INT64_T;
    std::vector<int64_t> in(static_cast<size_t>(ranks * block));
    std::vector<int64_t> out(static_cast<size_t>(block));
    Reduce_scatter_block(in.data(), out.data(), block, type, op, kWorld);
  });
}

TEST(TimeOfReduceScatter, IsThatOfRecursiveHalvingWhenShort) {
  for (const int ranks : {2, 16, 64}) {
    const double expected = log2_ceil(ranks) * kLatency + (ranks - 1) * 800.0;
    expect_time(reduce_scatter_ns(ranks, 100, false), expected, describe(ranks, 800));
    expect_time(reduce_scatter_ns(ranks, 100, true), expected, "ordered, " + describe(ranks, 800));
  }
}

TEST(TimeOfReduceScatter, IsThatOfPairwiseStepsWhenLong) {
  for (const int ranks : {4, 7}) {
    expect_time(reduce_scatter_ns(ranks, 30'000, false), (ranks - 1) * message(240'000),
                describe(ranks, 240'000));
  }
}

TEST(TimeOfScan, IsThatOfRecursiveDoubling) {
  for (const int ranks : {2, 16, 128}) {
    for (const Count count : {1, 1000}) {
      const double measured = measured_ns(ranks, [count](int) {
        std::vector<double> in(static_cast<size_t>(count));
        std::vector<double> out(static_cast<size_t>(count));
        Scan(in.data(), out.data(), count, MPI_DOUBLE, MPI_SUM, kWorld);
      });
      expect_time(measured, log2_ceil(ranks) * message(8.0 * static_cast<double>(count)),
                  describe(ranks, 8 * count));
    }
  }
}

TEST(TimeOfCollectives, CountsAMessageBeyondTheEagerLimitAsItsPingPong) {
  // T(m) is what the machine file says, whatever the protocol.
  const int ranks = 8;
  const Count bytes = 10'000;
  std::string network = kCrossbar;
  network.insert(network.find("[topology]"), "eager_limit = \"1 KiB\"\n");
  const double bcast = measured_ns(
      ranks,
      [bytes](int) {
        std::vector<char> data(static_cast<size_t>(bytes));
        Bcast(data.data(), bytes, MPI_BYTE, 0, kWorld);
      },
      network);
  expect_time(bcast, log2_ceil(ranks) * message(bytes), "bcast");
  const double scan = measured_ns(
      ranks,
      [bytes](int) {
        std::vector<char> in(static_cast<size_t>(bytes));
        std::vector<char> out(static_cast<size_t>(bytes));
        Scan(in.data(), out.data(), bytes, MPI_SIGNED_CHAR, MPI_SUM, kWorld);
      },
      network);
  expect_time(scan, log2_ceil(ranks) * message(bytes), "scan");
}

// A rank copies its own block before or after the messages, at 2 GB/s: half a nanosecond a byte.
TEST(TimeOfCopies, IsAddedForARanksOwnBlockOnly) {
  const std::string copies = "copy_bandwidth = \"2 GB/s\"\n" + std::string(kCrossbar);  // of [node]
  const double own = 100'000 / 2;
  const auto added_ns = [&copies](const std::function<void(char* out, char* in)>& call) {
    const auto whole = [&call](int) {
      std::vector<char> out(4 * 100'000);
      std::vector<char> in(4 * 100'000);
      call(out.data(), in.data());
    };
    return measured_ns(4, whole, copies) - measured_ns(4, whole);
  };
  const Count block = 100'000;
  EXPECT_NEAR(own, added_ns([&](char* out, char* in) {
                Alltoall(out, block, MPI_BYTE, in, block, MPI_BYTE, kWorld);
              }),
              1);
  EXPECT_NEAR(own, added_ns([&](char* out, char* in) {
                Allgather(out, block, MPI_BYTE, in, block, MPI_BYTE, kWorld);
              }),
              1);
  EXPECT_EQ(0, added_ns([&](char*, char* in) {
              Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, block, MPI_BYTE, kWorld);
            }))
      << "nothing is copied in place";
  EXPECT_EQ(0, added_ns([&](char* out, char*) { Bcast(out, block, MPI_BYTE, 0, kWorld); }));
}

// At 4 GB/s a rank combines a byte in a quarter of a nanosecond: the term of gamma in Thakur,
// Rabenseifner and Gropp (2005).
TEST(TimeOfReductions, IsAddedForEveryByteThatARankCombines) {
  const std::string machine = "reduction_bandwidth = \"4 GB/s\"\n" + std::string(kCrossbar);
  const auto added_ns = [&machine](int ranks, Count bytes, const auto& call) {
    const auto whole = [bytes, &call](int) {
      std::vector<char> out(static_cast<size_t>(bytes));
      std::vector<char> in(static_cast<size_t>(bytes));
      call(out.data(), in.data(), bytes);
    };
    return measured_ns(ranks, whole, machine) - measured_ns(ranks, whole);
  };
  const auto allreduce = [](char* out, char* in, Count bytes) {
    Allreduce(out, in, bytes, MPI_SIGNED_CHAR, MPI_SUM, kWorld);
  };
  const auto nonblocking = [](char* out, char* in, Count bytes) {
    Request request = MPI_REQUEST_NULL;
    Iallreduce(out, in, bytes, MPI_SIGNED_CHAR, MPI_SUM, kWorld, &request);
    Wait(&request, MPI_STATUS_IGNORE);
  };
  const auto reduce = [](char* out, char* in, Count bytes) {
    Reduce(out, in, bytes, MPI_SIGNED_CHAR, MPI_SUM, 0, kWorld);
  };
  for (const int ranks : {2, 16}) {
    const double doubling = log2_ceil(ranks) * 8 / 4.0;
    EXPECT_NEAR(doubling, added_ns(ranks, 8, allreduce), 0.01) << ranks;
    EXPECT_NEAR(doubling, added_ns(ranks, 8, nonblocking), 0.01) << ranks;
    const double tree = log2_ceil(ranks) * 2000 / 4.0;
    EXPECT_NEAR(tree, added_ns(ranks, 2000, reduce), 1) << ranks;
    const double halving = (ranks - 1.0) / ranks * (1 << 16) / 4.0;
    EXPECT_NEAR(halving, added_ns(ranks, 1 << 16, allreduce), 1) << ranks;
    EXPECT_NEAR(halving, added_ns(ranks, 1 << 16, reduce), 1) << ranks;
  }
  EXPECT_NEAR(250,
              added_ns(2, 1000,
                       [](char* out, char* in, Count bytes) {
                         Reduce_local(out, in, bytes, MPI_SIGNED_CHAR, MPI_SUM);
                       }),
              1);
  EXPECT_EQ(0, added_ns(4, 1000, [](char* out, char*, Count bytes) {
              Bcast(out, bytes, MPI_BYTE, 0, kWorld);
            }));
}

TEST(TimeOfPacking, IsAddedForEveryBlockOfBrucksAlltoall) {
  const std::string machine = "packing_time = \"50 ns\"\n" + std::string(kCrossbar);
  const auto added_ns = [&machine](int ranks) {
    const auto alltoall = [ranks](int) {
      std::vector<char> out(static_cast<size_t>(ranks) * 8);
      std::vector<char> in(static_cast<size_t>(ranks) * 8);
      Alltoall(out.data(), 8, MPI_BYTE, in.data(), 8, MPI_BYTE, kWorld);
    };
    return measured_ns(ranks, alltoall, machine) - measured_ns(ranks, alltoall);
  };
  EXPECT_NEAR(50 * 3 * 4, added_ns(8), 0.01);
  EXPECT_NEAR(50 * (6 + 6 + 5 + 5), added_ns(13), 0.01) << "numbers below 13 with each bit";
}

TEST(TimeOfNeighborAlltoall, IsThatOfOneMessageAndTheOtherInjections) {
  const double measured = measured_ns(16, [](int) {
    const int dims[2] = {4, 4};
    const int periods[2] = {1, 1};
    Comm grid = MPI_COMM_NULL;
    Cart_create(kWorld, 2, dims, periods, 0, &grid);
    Barrier(grid);
    const SimTime begin = self().now;
    std::vector<char> out(4 * 5000);
    std::vector<char> in(4 * 5000);
    Neighbor_alltoall(out.data(), 5000, MPI_BYTE, in.data(), 5000, MPI_BYTE, grid);
    self().now -= begin;
  });
  expect_time(measured, message(5000) + 3 * apart(5000), "16 ranks");
}

}  // namespace
}  // namespace sesame::mpi
