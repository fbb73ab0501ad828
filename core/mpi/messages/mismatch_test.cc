// Ranks that disagree about the type or length of a message, about the collective, or about its
// arguments.
#include <gtest/gtest.h>

#include <functional>

#include "core/mpi/api.h"
#include "core/mpi/calls/call.h"
#include "core/mpi/objects/datatype_create.h"
#include "core/mpi/objects/datatype_table.h"
#include "core/mpi/objects/type_signature.h"
#include "core/mpi/testing/simulated_job.h"

namespace sesame::mpi {
namespace {

using testing::SimulatedJob;

// ---- Type signatures

class TypeSignature : public ::testing::Test {
 protected:
  SignatureId of(Datatype type) { return types_.find(type)->signature(); }
  bool agree(Datatype a, Datatype b, uint64_t bytes = 48) {
    const bool result = do_signatures_agree(of(a), of(b), bytes);
    EXPECT_EQ(do_signatures_agree(of(b), of(a), bytes), result);
    return result;
  }
  Datatype contiguous(Count count, Datatype old) {
    Datatype type = MPI_DATATYPE_NULL;
    EXPECT_EQ(type_contiguous(types_, count, old, &type), MPI_SUCCESS);
    return type;
  }
  Datatype pair(Datatype first, Datatype second, Aint displacement) {
    const Count lengths[] = {1, 1};
    const Aint displacements[] = {0, displacement};
    const Datatype parts[] = {first, second};
    Datatype type = MPI_DATATYPE_NULL;
    EXPECT_EQ(type_create_struct(types_, 2, lengths, displacements, parts, &type), MPI_SUCCESS);
    return type;
  }
  DatatypeTable types_;
};

TEST_F(TypeSignature, OfTheSameRepresentationAgree) {
  EXPECT_TRUE(agree(MPI_LONG, MPI_UNSIGNED_LONG));
  EXPECT_TRUE(agree(MPI_INT, MPI_INTEGER));
  EXPECT_TRUE(agree(MPI_CHAR, MPI_SIGNED_CHAR));
  EXPECT_TRUE(agree(MPI_DOUBLE, MPI_C_DOUBLE_COMPLEX));
  EXPECT_TRUE(agree(MPI_2INT, MPI_INT));
  EXPECT_TRUE(agree(MPI_BYTE, MPI_DOUBLE));
  EXPECT_TRUE(agree(MPI_PACKED, MPI_DOUBLE_INT));
}

TEST_F(TypeSignature, OfOtherElementsDisagree) {
  EXPECT_FALSE(agree(MPI_INT, MPI_FLOAT));
  EXPECT_FALSE(agree(MPI_LONG, MPI_INT));
  EXPECT_FALSE(agree(MPI_DOUBLE, MPI_LONG));
  EXPECT_FALSE(agree(MPI_FLOAT, MPI_DOUBLE));
  EXPECT_FALSE(agree(MPI_LONG_DOUBLE, MPI_DOUBLE));
  EXPECT_TRUE(agree(MPI_INT, MPI_FLOAT, 0)) << "an empty message";
}

TEST_F(TypeSignature, IsThatOfTheElementsInTheirOrderWhateverTheLayout) {
  const Datatype mixed = pair(MPI_INT, MPI_DOUBLE, 8);
  EXPECT_TRUE(agree(contiguous(5, MPI_DOUBLE), MPI_DOUBLE));
  EXPECT_TRUE(agree(mixed, pair(MPI_UNSIGNED, MPI_DOUBLE, 16)));
  EXPECT_TRUE(agree(mixed, contiguous(3, mixed)));
  EXPECT_TRUE(agree(pair(mixed, mixed, 16), mixed));
  EXPECT_TRUE(agree(MPI_DOUBLE_INT, pair(MPI_DOUBLE, MPI_INT, 8)));
  EXPECT_FALSE(agree(mixed, MPI_DOUBLE_INT));
  EXPECT_FALSE(agree(mixed, MPI_INT));
  EXPECT_TRUE(agree(mixed, MPI_INT, 4)) << "only the first element is there";
  EXPECT_FALSE(agree(pair(mixed, MPI_FLOAT, 16), mixed));
  EXPECT_TRUE(agree(pair(mixed, MPI_FLOAT, 16), mixed, 12));
  // Bytes inside a sequence agree with any element at the same position.
  EXPECT_TRUE(agree(pair(contiguous(4, MPI_BYTE), MPI_DOUBLE, 8), mixed));
}

TEST_F(TypeSignature, IsDescribed) {
  EXPECT_EQ(describe_signature(of(MPI_DOUBLE)), "8-byte floating-point numbers");
  EXPECT_EQ(describe_signature(of(pair(MPI_INT, contiguous(2, MPI_FLOAT), 4))),
            "sequences of a 4-byte integer and 2 4-byte floating-point numbers");
}

// ---- Messages

// The warnings when rank 0 sends to rank 1, which posts the receive before or after the send.
std::vector<std::string> warnings_of(Count send_count, Datatype sent, Count count, Datatype wanted,
                                     bool receives_first) {
  SimulatedJob job(2);
  job.run([=](int rank) {
    char data[64] = "";
    for (int i = 0; i < 2; ++i) {
      if (rank == 1 && !receives_first) {
        Probe(0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      } else if (rank == 0 && receives_first) {
        Recv(nullptr, 0, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      }
      Request request = MPI_REQUEST_NULL;
      if (rank == 1) {
        Irecv(data, count, wanted, 0, 7, MPI_COMM_WORLD, &request);
        if (receives_first) Send(nullptr, 0, MPI_INT, 0, 0, MPI_COMM_WORLD);
        EXPECT_EQ(Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
      } else {
        Send(data, send_count, sent, 1, 7, MPI_COMM_WORLD);
      }
    }
  });
  return job.warnings();
}

TEST(Mismatch, OfTypesIsReportedOnce) {
  for (const bool receives_first : {true, false}) {
    EXPECT_EQ(warnings_of(2, MPI_FLOAT, 1, MPI_DOUBLE, receives_first),
              std::vector<std::string>{"rank 1 receives 8-byte floating-point numbers, but 4-byte "
                                       "floating-point numbers were sent (by rank 0, tag 7): the "
                                       "receiver misinterprets the bytes"});
    EXPECT_TRUE(warnings_of(2, MPI_DOUBLE, 3, MPI_DOUBLE, receives_first).empty());
    EXPECT_TRUE(warnings_of(8, MPI_BYTE, 1, MPI_DOUBLE, receives_first).empty());
  }
}

TEST(Mismatch, OfLengthsSaysBoth) {
  SimulatedJob job(2);
  job.run([](int rank) {
    const int many[3] = {};
    int one = 0;
    if (rank == 0) {
      Send(many, 3, MPI_INT, 1, 7, MPI_COMM_WORLD);
    } else {
      EXPECT_EQ(Recv(&one, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
      EXPECT_EQ(
          this_rank().errors.detail,
          "the message of 12 bytes from rank 0, tag 7 is longer than the receive, which takes "
          "4");
    }
  });
}

// ---- Collectives

// The error of the rank that finds the ranks disagree, which ends the job.
std::string error_of(const std::function<int(int rank)>& collective, int expected_class) {
  SimulatedJob job(3);
  return job.run_until_abort([&](int rank) {
    const int error = collective(rank);
    if (error == MPI_SUCCESS) return;
    EXPECT_EQ(error, expected_class);
    this_rank().world.hooks.abort_job(1, this_rank().errors.detail);
  });
}

TEST(Mismatch, OfCollectivesIsAnError) {
  const auto collective = [](int rank) {
    int value = 0;
    CallScope call(rank == 2 ? CallId::Barrier : CallId::Bcast);
    return rank == 2 ? Barrier(MPI_COMM_WORLD) : Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
  };
  EXPECT_EQ(error_of(collective, MPI_ERR_OTHER),
            "the ranks are in different collectives: rank 0 MPI_Bcast, rank 2 MPI_Barrier (on "
            "MPI_COMM_WORLD)");
}

TEST(Mismatch, OfRootsOperationsAndLengthsIsAnError) {
  int value[4] = {}, all[12] = {};
  EXPECT_EQ(error_of([&](int rank) { return Bcast(value, 1, MPI_INT, rank / 2, MPI_COMM_WORLD); },
                     MPI_ERR_ROOT),
            "the ranks name different roots: rank 0 root 0, rank 2 root 1 (on MPI_COMM_WORLD)");
  EXPECT_EQ(error_of(
                [&](int rank) {
                  return Allreduce(value, all, 1, MPI_INT, rank == 1 ? MPI_MAX : MPI_SUM,
                                   MPI_COMM_WORLD);
                },
                MPI_ERR_OP),
            "the ranks pass different operations: rank 0 MPI_SUM, rank 1 MPI_MAX (on "
            "MPI_COMM_WORLD)");
  EXPECT_EQ(error_of([&](int rank) { return Bcast(value, 1 + rank, MPI_INT, 0, MPI_COMM_WORLD); },
                     MPI_ERR_TRUNCATE),
            "the ranks pass different amounts of data: rank 0 4 bytes, rank 1 8 bytes (on "
            "MPI_COMM_WORLD)");
  EXPECT_EQ(error_of(
                [&](int rank) {
                  return Gather(value, rank == 1 ? 2 : 1, MPI_INT, all, 1, MPI_INT, 2,
                                MPI_COMM_WORLD);
                },
                MPI_ERR_TRUNCATE),
            "the ranks pass different amounts of data: rank 0 4 bytes, rank 1 8 bytes (on "
            "MPI_COMM_WORLD)");
  EXPECT_EQ(
      error_of([&](int) { return Allgather(value, 1, MPI_INT, all, 2, MPI_INT, MPI_COMM_WORLD); },
               MPI_ERR_TRUNCATE),
      "the rank sends blocks of 4 bytes and receives blocks of 8");
}

// Ranks are named as in the run, roots as in the communicator.
TEST(Mismatch, OfASplitCommunicatorNamesRanksOfTheRun) {
  EXPECT_EQ(error_of(
                [](int rank) {
                  Comm half = MPI_COMM_NULL;
                  Comm_split(MPI_COMM_WORLD, rank > 0, rank, &half);
                  int value = 0;
                  return Bcast(&value, 1, MPI_INT, rank == 2, half);
                },
                MPI_ERR_ROOT),
            "the ranks name different roots: rank 2 root 1, rank 1 root 0");
}

TEST(Mismatch, OfLengthsByRankIsAnErrorWhereTheyMatch) {
  int value[4] = {}, all[12] = {};
  const Count counts[] = {1, 3, 1};
  const Count displacements[] = {0, 1, 4};
  EXPECT_EQ(error_of(
                [&](int) {
                  return Gatherv(value, 1, MPI_INT, all, IntArray(counts), IntArray(displacements),
                                 MPI_INT, 0, MPI_COMM_WORLD);
                },
                MPI_ERR_TRUNCATE),
            "rank 1 sends 4 bytes, but this rank expects 12");
}

TEST(Mismatch, OfTypesInACollectiveIsReported) {
  SimulatedJob job(2);
  job.run([](int rank) {
    double value = 0;
    EXPECT_EQ(rank == 0 ? Bcast(&value, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD)
                        : Bcast(&value, 2, MPI_INT, 0, MPI_COMM_WORLD),
              MPI_SUCCESS);
  });
  ASSERT_EQ(job.warnings().size(), 1U);
  EXPECT_NE(job.warnings()[0].find("rank 0 8-byte floating-point numbers, rank 1 4-byte integers"),
            std::string::npos)
      << job.warnings()[0];
}

// Derived types may differ if their signatures agree; ranks may be many collectives apart.
TEST(Mismatch, IsNotReportedForEquivalentArguments) {
  SimulatedJob job(4);
  job.run([](int rank) {
    Datatype three = MPI_DATATYPE_NULL;
    Type_contiguous(3, MPI_INT, &three, false);
    Type_commit(&three);
    int values[3] = {rank, rank, rank};
    for (int i = 0; i < 100; ++i) {
      EXPECT_EQ(rank % 2 == 0 ? Bcast(values, 3, MPI_INT, 0, MPI_COMM_WORLD)
                              : Bcast(values, 1, three, 0, MPI_COMM_WORLD),
                MPI_SUCCESS);
    }
    EXPECT_EQ(values[2], 0);
    Type_free(&three);
  });
  EXPECT_TRUE(job.warnings().empty());
}

}  // namespace
}  // namespace sesame::mpi
