// The algorithms that Open MPI chooses for non-blocking and persistent collectives, and their
// simulated times against the closed forms of docs/models/collectives.md.
#include <gtest/gtest.h>

#include "core/mpi/collectives/open_mpi_rules.h"
#include "core/mpi/collectives/time_data.h"

namespace sesame::mpi {
namespace {

using namespace testing;

// Those that nbc_iallreduce.c, nbc_ibcast.c and nbc_ireduce.c of its component libnbc make.
TEST(OpenMpiRules, OfNonBlockingCollectivesAreThoseOfItsSource) {
  using namespace collectives::open_mpi;
  EXPECT_EQ(choose_iallreduce(3, 1 << 20, 1 << 20, true, false), Allreduce::kBinomial);
  EXPECT_EQ(choose_iallreduce(4, 65535, 65535, true, false), Allreduce::kBinomial);
  EXPECT_EQ(choose_iallreduce(4, 65536, 65536, true, false), Allreduce::kHalvingDoubling);
  EXPECT_EQ(choose_iallreduce(4, 65536, 65536, false, false), Allreduce::kBinomial);
  EXPECT_EQ(choose_iallreduce(4, 65536, 65536, true, true), Allreduce::kBinomial);
  EXPECT_EQ(choose_iallreduce(9, 65536, 7, true, false), Allreduce::kRing);
  EXPECT_EQ(choose_ibcast(4, 1 << 20), Bcast::kLinear);
  EXPECT_EQ(choose_ibcast(5, 65535), Bcast::kBinomial);
  EXPECT_EQ(choose_ibcast(5, 65536), Bcast::kPipeline);
  EXPECT_EQ(bcast_segment(524287), 8192);
  EXPECT_EQ(bcast_segment(524288), 32768);
  EXPECT_EQ(choose_ireduce(3, 8, 2, true), Reduce::kScatterGather);
  EXPECT_EQ(choose_ireduce(3, 8, 1, true), Reduce::kBinomial);
  EXPECT_EQ(choose_ireduce(2, 65536, 8192, true), Reduce::kPipeline);
  EXPECT_EQ(choose_ireduce(2, 65536, 8192, false), Reduce::kBinomial);
}

// The time of a non-blocking collective that each rank starts and waits for.
double non_blocking_ns(int ranks, const std::function<void(int rank, Request* request)>& call) {
  return open_mpi_ns(ranks, [&call](int rank) {
    Request request = MPI_REQUEST_NULL;
    call(rank, &request);
    Wait(&request, MPI_STATUS_IGNORE);
  });
}

double ibcast_ns(int ranks, Count bytes) {
  std::vector<std::vector<char>> data(static_cast<size_t>(ranks), bytes_of(bytes));
  return non_blocking_ns(ranks, [&](int rank, Request* request) {
    Ibcast(data[static_cast<size_t>(rank)].data(), bytes, MPI_BYTE, 0, kWorld, request);
  });
}

TEST(TimeOfOpenMpisNonBlockingBarrier, IsThatOfDissemination) {
  const double ibarrier =
      non_blocking_ns(256, [](int, Request* request) { Ibarrier(kWorld, request); });
  expect_time(ibarrier, 8 * kLatency, "256 ranks");
  const double persistent = open_mpi_ns(256, [](int) {
    Request request = MPI_REQUEST_NULL;
    Barrier_init(kWorld, MPI_INFO_NULL, &request);
    Start(&request);
    Wait(&request, MPI_STATUS_IGNORE);
  });
  expect_time(persistent, 8 * kLatency, "persistent");
}

TEST(TimeOfOpenMpisNonBlockingBcast, IsThatOfItsAlgorithms) {
  expect_time(ibcast_ns(4, 1 << 20), message(1 << 20) + 2 * apart(1 << 20), "linear");
  expect_time(ibcast_ns(16, 50'000), 4 * message(50'000), "binomial");
  expect_time(ibcast_ns(5, 1 << 18), 4 * message(8192) + 31 * apart(8192), "short segments");
  expect_time(ibcast_ns(5, 1 << 20), 4 * message(32768) + 31 * apart(32768), "long segments");
}

TEST(TimeOfOpenMpisNonBlockingAllgather, IsThatOfMessagesToAll) {
  const int ranks = 40;
  const Count bytes = 1000;
  std::vector<std::vector<char>> all(40, bytes_of(ranks * bytes));
  const double measured = non_blocking_ns(ranks, [&](int rank, Request* request) {
    Iallgather(MPI_IN_PLACE, 0, MPI_BYTE, all[static_cast<size_t>(rank)].data(), bytes, MPI_BYTE,
               kWorld, request);
  });
  expect_time(measured, message(bytes) + 38 * apart(bytes), "40 ranks");
}

TEST(TimeOfOpenMpisNonBlockingGather, IsLinear) {
  const int ranks = 16;
  const Count bytes = 200;
  std::vector<std::vector<char>> all(16, bytes_of(ranks * bytes));
  const double gather = non_blocking_ns(ranks, [&](int rank, Request* request) {
    char* const data = all[static_cast<size_t>(rank)].data();
    Igather(rank == 0 ? MPI_IN_PLACE : data, bytes, MPI_BYTE, data, bytes, MPI_BYTE, 0, kWorld,
            request);
  });
  expect_time(gather, message(bytes) + 14 * kReceiveOverhead, "gather");
  const double scatter = non_blocking_ns(ranks, [&](int rank, Request* request) {
    char* const data = all[static_cast<size_t>(rank)].data();
    Iscatter(data, bytes, MPI_BYTE, rank == 0 ? MPI_IN_PLACE : data, bytes, MPI_BYTE, 0, kWorld,
             request);
  });
  expect_time(scatter, message(bytes) + 14 * apart(bytes), "scatter");
}

// Vectors of 8-byte integers, those of all ranks together.
struct Vectors {
  Vectors(int ranks, Count count) : in(vectors(ranks, count)), out(vectors(ranks, count)) {}
  static std::vector<std::vector<int64_t>> vectors(int ranks, Count count) {
    return {static_cast<size_t>(ranks), std::vector<int64_t>(static_cast<size_t>(count), 1)};
  }
  int64_t* input(int rank) { return in[static_cast<size_t>(rank)].data(); }
  int64_t* output(int rank) { return out[static_cast<size_t>(rank)].data(); }

  std::vector<std::vector<int64_t>> in;
  std::vector<std::vector<int64_t>> out;
};

TEST(TimeOfOpenMpisNonBlockingReductions, IsThatOfTheirAlgorithms) {
  const auto iallreduce = [](int ranks, Count count) {
    Vectors vectors(ranks, count);
    const double measured = non_blocking_ns(ranks, [&](int rank, Request* request) {
      Iallreduce(vectors.input(rank), vectors.output(rank), count, MPI_INT64_T, MPI_SUM, kWorld,
                 request);
    });
    EXPECT_EQ(vectors.output(ranks - 1)[count - 1], ranks);
    return measured;
  };
  expect_time(iallreduce(16, 100), 2 * 4 * message(800), "two binomial trees");
  expect_time(iallreduce(16, 10'000), 2 * (4 * kLatency + 15.0 / 16 * 80'000), "halving");
  const auto ireduce = [](int ranks, Count count) {
    Vectors vectors(ranks, count);
    const double measured = non_blocking_ns(ranks, [&](int rank, Request* request) {
      Ireduce(vectors.input(rank), vectors.output(rank), count, MPI_INT64_T, MPI_SUM, 0, kWorld,
              request);
    });
    EXPECT_EQ(vectors.output(0)[count - 1], ranks);
    return measured;
  };
  expect_time(ireduce(16, 8), 4 * message(64), "binomial");
  expect_time(ireduce(16, 1600), 2 * (4 * kLatency + 15.0 / 16 * 12'800), "halving and gather");
  expect_time(ireduce(2, 1 << 15), message(8192) + 31 * apart(8192), "segments");
}

constexpr Count kIntegers = 2500;  // of an element

// Vectors of 3 elements of 20,000 bytes on 5 ranks: fewer elements than ranks.
double few_elements_ns(bool is_blocking) {
  constexpr int kRanks = 5;
  Vectors vectors(kRanks, 3 * kIntegers);
  Datatype element;
  SimulatedJob job(kRanks);
  job.world().open_mpi_collectives = true;
  machine::CollectiveRule ring;
  ring.algorithm = static_cast<int>(collectives::open_mpi::Allreduce::kRing);
  auto& rules = job.world().collective_tables.rules;
  rules[static_cast<size_t>(machine::Collective::kAllreduce)].push_back(ring);
  const SimTime end = job.run([&](int rank) {
    Type_contiguous(kIntegers, MPI_INT64_T, &element, false);
    Type_commit(&element);
    const Op sum = make_op(
        [](const void* in, void* inout, Count count, Datatype) {
          for (Count i = 0; i < count * kIntegers; ++i)
            static_cast<int64_t*>(inout)[i] += static_cast<const int64_t*>(in)[i];
        },
        true);
    Request request = MPI_REQUEST_NULL;
    if (is_blocking) {
      Allreduce(vectors.input(rank), vectors.output(rank), 3, element, sum, kWorld);
    } else {
      Iallreduce(vectors.input(rank), vectors.output(rank), 3, element, sum, kWorld, &request);
      Wait(&request, MPI_STATUS_IGNORE);
    }
  });
  for (int rank = 0; rank < kRanks; ++rank) {
    EXPECT_EQ(vectors.out[static_cast<size_t>(rank)],
              std::vector<int64_t>(static_cast<size_t>(3 * kIntegers), kRanks));
  }
  return static_cast<double>(end.ps()) / 1000;
}

TEST(TimeOfOpenMpisRing, OfFewerElementsThanRanksIsThatOfDoublingOrOfEmptyBlocks) {
  // Rank 1 receives the vector of rank 0 first and then sends three, of which rank 0 gets the last.
  expect_time(few_elements_ns(true), 2 * message(60'000) + 2 * apart(60'000), "doubling");
  // A full block passes all ranks twice, and each waits for it.
  expect_time(few_elements_ns(false), 8 * message(20'000), "non-blocking: the ring");
}

TEST(TimeOfARuleForBlockingForms, IsNotThatOfTheOthers) {
  constexpr int kRanks = 16;
  constexpr Count kCount = 100;
  const auto measured = [](bool is_blocking) {
    Vectors vectors(kRanks, kCount);
    SimulatedJob job(kRanks);
    job.world().open_mpi_collectives = true;
    machine::CollectiveRule linear;
    linear.algorithm = static_cast<int>(collectives::open_mpi::Allreduce::kLinear);
    linear.forms = machine::CollectiveForms::kBlocking;
    auto& rules = job.world().collective_tables.rules;
    rules[static_cast<size_t>(machine::Collective::kAllreduce)].push_back(linear);
    return static_cast<double>(job.run([&](int rank) {
                                    Request request = MPI_REQUEST_NULL;
                                    const auto* in = vectors.input(rank);
                                    auto* out = vectors.output(rank);
                                    if (is_blocking) {
                                      Allreduce(in, out, kCount, MPI_INT64_T, MPI_SUM, kWorld);
                                    } else {
                                      Iallreduce(in, out, kCount, MPI_INT64_T, MPI_SUM, kWorld,
                                                 &request);
                                      Wait(&request, MPI_STATUS_IGNORE);
                                    }
                                  })
                                   .ps()) /
           1000;
  };
  expect_time(measured(true), 2 * message(800) + 14 * (kReceiveOverhead + apart(800)), "the rule");
  expect_time(measured(false), 2 * 4 * message(800), "libnbc's two binomial trees");
}

TEST(TimeOfOpenMpisNonBlockingReduceScatter, IsThatOfReduceAndScatter) {
  Vectors vectors(16, 16 * 100);
  const double measured = non_blocking_ns(16, [&](int rank, Request* request) {
    Ireduce_scatter_block(vectors.input(rank), vectors.output(rank), 100, MPI_INT64_T, MPI_SUM,
                          kWorld, request);
  });
  EXPECT_EQ(vectors.output(15)[99], 16);
  expect_time(measured, 4 * message(12'800) + message(800) + 14 * apart(800), "16 ranks");
}

}  // namespace
}  // namespace sesame::mpi
