#include <gtest/gtest.h>

#include <cstring>

#include "core/mpi/api.h"
#include "core/mpi/objects/info.h"
#include "core/mpi/testing/simulated_job.h"

namespace sesame::mpi {
namespace {

using testing::SimulatedJob;

void on_one_rank(const std::function<void()>& body) {
  SimulatedJob job(1);
  job.run([&](int) { body(); });
}

TEST(Info, KeepsKeysInTheOrderInWhichTheyWereSet) {
  on_one_rank([] {
    Info info;
    Info_create(&info);
    Info_set(info, "b", "1");
    Info_set(info, "a", "2");
    Info_set(info, "b", "3");
    int keys = 0, flag = 0;
    Info_get_nkeys(info, &keys);
    EXPECT_EQ(keys, 2);
    char text[MPI_MAX_INFO_KEY + 1];
    Info_get_nthkey(info, 0, text);
    EXPECT_STREQ(text, "b");
    Info_get(info, "b", 10, text, &flag);
    EXPECT_EQ(flag, 1);
    EXPECT_STREQ(text, "3");
    EXPECT_EQ(Info_get_nthkey(info, 2, text), MPI_ERR_ARG);
  });
}

TEST(Info, GetCutsValuesAndGetStringTellsTheirLength) {
  on_one_rank([] {
    Info info;
    Info_create(&info);
    Info_set(info, "key", "abcdef");
    char text[16];
    std::memset(text, '#', sizeof text);
    int flag = 0;
    Info_get(info, "key", 3, text, &flag);
    EXPECT_STREQ(text, "abc");
    int length = 0;
    Info_get_valuelen(info, "key", &length, &flag);
    EXPECT_EQ(length, 6);
    length = 4;
    Info_get_string(info, "key", &length, text, &flag);
    EXPECT_STREQ(text, "abc");
    EXPECT_EQ(length, 7);
    length = 0;
    Info_get_string(info, "key", &length, nullptr, &flag);
    EXPECT_EQ(length, 7);
    Info_get_string(info, "other", &length, text, &flag);
    EXPECT_EQ(flag, 0);
  });
}

TEST(Info, RefusesWhatMpiForbids) {
  on_one_rank([] {
    Info info;
    Info_create(&info);
    EXPECT_EQ(Info_delete(info, "none"), MPI_ERR_INFO_NOKEY);
    EXPECT_EQ(Info_set(info, "", "1"), MPI_ERR_INFO_KEY);
    EXPECT_EQ(Info_set(info, std::string(300, 'k').c_str(), "1"), MPI_ERR_INFO_KEY);
    EXPECT_EQ(Info_set(info, "k", std::string(2000, 'v').c_str()), MPI_ERR_INFO_VALUE);
    Info copy = info;
    EXPECT_EQ(Info_free(&info), MPI_SUCCESS);
    EXPECT_EQ(info, MPI_INFO_NULL);
    EXPECT_EQ(Info_set(copy, "k", "v"), MPI_ERR_INFO);
    Info environment = MPI_INFO_ENV;
    EXPECT_EQ(Info_free(&environment), MPI_ERR_INFO);
  });
}

TEST(Info, DuplicatesAreIndependent) {
  on_one_rank([] {
    Info info, copy;
    Info_create(&info);
    Info_set(info, "k", "old");
    Info_dup(info, &copy);
    Info_set(info, "k", "new");
    char text[8];
    int flag = 0;
    Info_get(copy, "k", 7, text, &flag);
    EXPECT_STREQ(text, "old");
  });
}

TEST(Info, EnvironmentKnowsTheNumberOfRanks) {
  SimulatedJob job(3);
  job.run([](int) {
    char text[8];
    int flag = 0;
    ASSERT_EQ(Info_get(MPI_INFO_ENV, "maxprocs", 7, text, &flag), MPI_SUCCESS);
    EXPECT_STREQ(text, "3");
  });
}

}  // namespace
}  // namespace sesame::mpi
