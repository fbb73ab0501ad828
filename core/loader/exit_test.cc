// How ranks end, and what still runs then.
#include <unistd.h>

#include "core/loader/testing/probe_runner.h"

namespace sesame::loader {
namespace {

constexpr const char* kHandlers = "registered second\nregistered first\n";

RunResult end_by(const std::string& how) { return run_probe("-n 2", "exits", how); }

TEST(Exit, RunsHandlersLastFirstAndThenDestructorsWhenMainReturns) {
  REQUIRE_PROGRAMS();
  const RunResult result = end_by("return");
  EXPECT_EQ(output_of(result, 0), "constructor\nbeforedestructor\n");
  EXPECT_EQ(output_of(result, 1),
            std::string("constructor\nbeforestatus 6 of on_exit\n") + kHandlers + "destructor\n");
  EXPECT_EQ(status_of(result, 0), 0);
  EXPECT_EQ(status_of(result, 1), 6);
}

TEST(Exit, EndsOnlyTheRankThatCallsExit) {
  REQUIRE_PROGRAMS();
  const RunResult result = end_by("exit");
  EXPECT_EQ(output_of(result, 1),
            std::string("constructor\nbeforestatus 3 of on_exit\n") + kHandlers + "destructor\n");
  EXPECT_EQ(status_of(result, 0), 0);
  EXPECT_EQ(status_of(result, 1), 3);
}

TEST(Exit, RunsTheRemainingHandlersWhenOneCallsExit) {
  REQUIRE_PROGRAMS();
  const RunResult result = end_by("again");
  EXPECT_EQ(output_of(result, 1),
            std::string("constructor\nbeforeexits again\nstatus 9 of on_exit\n") + kHandlers +
                "destructor\n");
  EXPECT_EQ(status_of(result, 1), 9);
}

TEST(Exit, NeitherFlushesNorRunsHandlersOnUnderscoreExit) {
  REQUIRE_PROGRAMS();
  const RunResult result = end_by("_exit");
  EXPECT_EQ(output_of(result, 1), "");
  EXPECT_EQ(status_of(result, 1), 4);
}

TEST(Exit, RunsOnlyQuickHandlersOnQuickExit) {
  REQUIRE_PROGRAMS();
  const RunResult result = end_by("quick");
  EXPECT_EQ(output_of(result, 1), "quick handler\n");
  EXPECT_EQ(status_of(result, 1), 5);
}

class ForkedChild : public testing::TestWithParam<std::pair<const char*, int>> {};

TEST_P(ForkedChild, EndsForGood) {
  REQUIRE_PROGRAMS();
  const auto [how, status] = GetParam();
  const RunResult result = end_by(std::string("'fork ") + how + "'");
  EXPECT_EQ(status_of(result, 1), status) << result.text;
  EXPECT_EQ(result.text.find("ended with", result.text.find("rank 1 ended with") + 8),
            std::string::npos)
      << "the child continued the simulation";
  EXPECT_EQ(result.text.find("sesame:"), std::string::npos) << result.text;
}

// A signal's number is added to 100.
INSTANTIATE_TEST_SUITE_P(Exit, ForkedChild,
                         testing::Values(std::pair("_exit", 21), std::pair("quick", 22),
                                         std::pair("abort", 106), std::pair("raise", 115),
                                         std::pair("crash", 111)));

TEST(Exit, LetsASignalEndTheSimulatorWhileARankComputes) {
  REQUIRE_PROGRAMS();
  const RunResult result =
      run_command("timeout --preserve-status -k 5 -s INT 0.5 " SESAME_LOADER_PROBE " -n 2 " +
                  program_path("exits") + " never");
  EXPECT_EQ(result.status, 130) << result.text;
}

TEST(Exit, KeepsTheLowEightBitsOfTheStatus) {
  REQUIRE_PROGRAMS();
  EXPECT_EQ(status_of(end_by("large"), 1), 7);
}

TEST(Exit, AbortsTheJobWithRankAndFunctions) {
  REQUIRE_PROGRAMS();
  const RunResult result = end_by("abort");
  EXPECT_NE(result.text.find("sesame: rank 1 called abort()"), std::string::npos) << result.text;
  EXPECT_NE(result.text.find("#0 main+0x"), std::string::npos) << result.text;
  EXPECT_EQ(result.status, 128 + 6);
}

TEST(Exit, PrintsAFailedAssertionOnTheRanksErrorStream) {
  REQUIRE_PROGRAMS();
  const RunResult result = end_by("assert");
  const std::string message = output_of(result, 1, 2);
  EXPECT_NE(message.find("exits: "), std::string::npos) << result.text;
  EXPECT_NE(message.find("main: Assertion `rank == 7' failed.\n"), std::string::npos);
  EXPECT_EQ(result.status, 128 + 6);
}

TEST(Exit, NamesASignalThatARankSendsItself) {
  REQUIRE_PROGRAMS();
  const RunResult result = end_by("raise");
  EXPECT_NE(result.text.find("rank 1 was ended by a signal that it sent itself: Terminated"),
            std::string::npos)
      << result.text;
  EXPECT_EQ(result.status, 128 + 15);
}

TEST(Exit, AbortsTheJobWhenAMissingFunctionIsCalled) {
  if (access("/usr/bin/NPmpich2", X_OK) != 0) GTEST_SKIP() << "netpipe-mpich2 is not installed";
  const RunResult result = run_command(SESAME_LOADER_PROBE " NPmpich2 -o /dev/null");
  EXPECT_NE(result.text.find("called MPI_Send, which no library defines"), std::string::npos)
      << result.text;
  EXPECT_NE(result.text.find("0: node-even"), std::string::npos);
  EXPECT_EQ(result.status, 1);
}

}  // namespace
}  // namespace sesame::loader
