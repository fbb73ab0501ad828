#include "core/mpi/objects/errhandler.h"

#include <gtest/gtest.h>

#include "core/mpi/api.h"
#include "core/mpi/messages/arguments.h"
#include "core/mpi/objects/errors.h"
#include "core/mpi/objects/object_tables.h"
#include "core/mpi/testing/simulated_job.h"

namespace sesame::mpi {
namespace {

using testing::SimulatedJob;

int seen_comm = 0;
int seen_error = 0;
void note_error(int* comm, int* error, ...) {
  seen_comm = *comm;
  seen_error = *error;
}

void forgive(int*, int* error, ...) { *error = MPI_SUCCESS; }

int raise_on_world(int error, const std::string& detail) {
  return raise_error(find_comm(this_rank(), MPI_COMM_WORLD), fail(error, detail), "MPI_Send");
}

TEST(Errhandler, EndsTheJobByDefaultAndSaysWhy) {
  SimulatedJob job(2);
  const std::string text = job.run_until_abort([](int rank) {
    if (rank == 1) raise_on_world(MPI_ERR_RANK, "rank 9 is not in the communicator");
  });
  EXPECT_EQ(text, "rank 1: MPI_Send: invalid rank: rank 9 is not in the communicator");
}

TEST(Errhandler, ReturnsTheErrorWhenSetToReturn) {
  SimulatedJob job(1);
  job.run([](int) {
    Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    EXPECT_EQ(raise_on_world(MPI_ERR_TAG, ""), MPI_ERR_TAG);
    Errhandler handler;
    Comm_get_errhandler(MPI_COMM_WORLD, &handler);
    EXPECT_EQ(handler, MPI_ERRORS_RETURN);
  });
}

TEST(Errhandler, CallsTheProgramsFunctionAlsoAfterItsHandleWasFreed) {
  SimulatedJob job(1);
  job.run([](int) {
    Errhandler handler, again;
    Comm_create_errhandler(reinterpret_cast<Function>(note_error), &handler);
    Comm copy;
    Comm_set_errhandler(MPI_COMM_WORLD, handler);
    Errhandler_free(&handler);
    EXPECT_EQ(handler, MPI_ERRHANDLER_NULL);
    Comm_dup(MPI_COMM_WORLD, &copy);
    raise_error(find_comm(this_rank(), copy), MPI_ERR_COUNT, "MPI_Recv");
    EXPECT_EQ(seen_comm, copy);
    EXPECT_EQ(seen_error, MPI_ERR_COUNT);
    Comm_get_errhandler(copy, &again);
    EXPECT_EQ(Comm_set_errhandler(MPI_COMM_SELF, again), MPI_SUCCESS);
    EXPECT_EQ(Errhandler_free(&again), MPI_SUCCESS);
    EXPECT_EQ(Comm_call_errhandler(MPI_COMM_SELF, MPI_ERR_OP), MPI_SUCCESS);
    EXPECT_EQ(seen_error, MPI_ERR_OP);
  });
}

TEST(Errhandler, TheProgramsFunctionMayChangeTheErrorThatIsReturned) {
  SimulatedJob job(1);
  job.run([](int) {
    Errhandler handler;
    Comm_create_errhandler(reinterpret_cast<Function>(forgive), &handler);
    Comm_set_errhandler(MPI_COMM_WORLD, handler);
    EXPECT_EQ(raise_on_world(MPI_ERR_TAG, ""), MPI_SUCCESS);
    Errhandler_free(&handler);
  });
}

TEST(Errhandler, ErrorsWithoutObjectGoToSelfThenWorld) {
  SimulatedJob job(1);
  const std::string text = job.run_until_abort([](int) {
    Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    EXPECT_EQ(raise_error(nullptr, MPI_ERR_INFO, "MPI_Info_free"), MPI_ERR_INFO);
    Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    raise_error(nullptr, MPI_ERR_INFO, "MPI_Info_free");
  });
  EXPECT_EQ(text, "rank 0: MPI_Info_free: invalid info");
}

TEST(Errhandler, RefusesHandlersOfOtherObjects) {
  SimulatedJob job(1);
  job.run([](int) {
    Errhandler handler;
    Win_create_errhandler(reinterpret_cast<Function>(note_error), &handler);
    EXPECT_EQ(Comm_set_errhandler(MPI_COMM_WORLD, handler), MPI_ERR_ARG);
    EXPECT_EQ(Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRHANDLER_NULL), MPI_ERR_ARG);
  });
}

TEST(ErrorCodes, ProgramsAddClassesCodesAndTexts) {
  SimulatedJob job(1);
  job.run([](int) {
    int error_class = 0, code = 0, found = 0, length = 0, flag = 0;
    int* last = nullptr;
    Add_error_class(&error_class);
    Add_error_code(error_class, &code);
    EXPECT_GT(error_class, MPI_ERR_LASTCODE);
    Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag);
    EXPECT_EQ(*last, code);
    Error_class(code, &found);
    EXPECT_EQ(found, error_class);
    Add_error_string(code, "out of luck");
    char text[MPI_MAX_ERROR_STRING];
    Error_string(code, text, &length);
    EXPECT_STREQ(text, "out of luck");
    EXPECT_EQ(length, 11);
    EXPECT_EQ(Remove_error_class(error_class), MPI_ERR_ARG) << "it has a code";
    EXPECT_EQ(Remove_error_string(code), MPI_SUCCESS);
    EXPECT_EQ(Remove_error_code(code), MPI_SUCCESS);
    EXPECT_EQ(Remove_error_class(error_class), MPI_SUCCESS);
    EXPECT_EQ(Add_error_string(MPI_ERR_RANK, "mine"), MPI_ERR_ARG);
  });
}

}  // namespace
}  // namespace sesame::mpi
