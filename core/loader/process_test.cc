// The state that each rank has for itself. Where possible, the same binary also runs on its own, as
// an ordinary MPICH process, to show what is right.
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "core/loader/testing/probe_runner.h"

namespace sesame::loader {
namespace {

std::string real_output(const std::string& program, const std::string& arguments = {}) {
  return run_command(program_path(program) + " " + arguments).text;
}

TEST(Process, DrawsTheRandomNumbersOfARealProcessInEveryRank) {
  REQUIRE_PROGRAMS();
  const std::string expected = real_output("random");
  ASSERT_NE(expected.find(" 1804289383 "), std::string::npos) << expected;
  const RunResult result = run_probe("-n 3", "random");
  for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(output_of(result, rank), expected);
}

TEST(Process, ParsesOptionsLikeARealProcessInEveryRank) {
  REQUIRE_PROGRAMS();
  for (const std::string arguments :
       {"", "-v -s 5 file -l3 -V", "one -vs 5 two -- -v three", "--verbose --size=7 a --si 8 b -l",
        "--ver", "--flag x --flag=3", "--size", "-s", "-q --nothing", "-vqV a b c -s4 d",
        "--level=3 --level", "a b c", "-- a b", "- -v -", ": -s", "--verb -v --vers"}) {
    const std::string expected = real_output("getopt", arguments + " 2>/dev/null");
    const std::string messages = real_output("getopt", arguments + " 2>&1 >/dev/null");
    const RunResult result = run_probe("-n 2", "getopt", arguments);
    for (int rank = 0; rank < 2; ++rank) {
      EXPECT_EQ(output_of(result, rank), expected) << arguments;
      EXPECT_EQ(output_of(result, rank, 2), messages) << arguments;
      if (HasFailure()) return;
    }
  }
}

TEST(Process, HonoursPosixlyCorrectInGetopt) {
  REQUIRE_PROGRAMS();
  setenv("POSIXLY_CORRECT", "1", 1);
  const std::string expected = real_output("getopt", "-v file -V");
  const RunResult result = run_probe("-n 1", "getopt", "-v file -V");
  unsetenv("POSIXLY_CORRECT");
  EXPECT_EQ(output_of(result, 0), expected);
}

TEST(Process, KeepsTokensEnvironmentDirectoryMaskTimeAndLocalePerRank) {
  REQUIRE_PROGRAMS();
  const RunResult result =
      run_command("umask 022; cd /tmp; HOME=/root printf '' | " SESAME_LOADER_PROBE " -n 3 " +
                  program_path("text"));
  EXPECT_EQ(output_of(result, 0), "a0 b0 c0 | value 0 0 home A 1 | - 000 | day 1 C C 0\n");
  EXPECT_EQ(output_of(result, 1),
            "a1 b1 c1 | value 1 1 - B 1 | /usr/lib 077 | day 2 C C.UTF-8 100\n");
  EXPECT_EQ(output_of(result, 2), "a2 b2 c2 | value 2 2 home C 1 | /etc 000 | day 3 C C 0\n");
}

TEST(Process, ShowsSimulatedTimeOnAllClocks) {
  REQUIRE_PROGRAMS();
  const RunResult result = run_probe("-n 2", "clocks");
  EXPECT_EQ(output_of(result, 0),
            "0.000 1.000 1.0025 20.2500 21.0000 21 0 21 cpu 0.0050 0.0050 0.0050 ticks 2100 0 0\n");
  EXPECT_EQ(output_of(result, 1),
            "0.000 2.000 2.0025 20.2500 21.0000 21 0 21 cpu 0.0050 0.0050 0.0050 ticks 2100 0 0\n");
}

TEST(Process, HasPipesForStandardStreamsAndTheTargetsNodeName) {
  REQUIRE_PROGRAMS();
  const RunResult result = run_probe("-n 2", "descriptors", "", "a line\\n77\\n");
  EXPECT_EQ(
      output_of(result, 0),
      "printf 0\nwrite\nwritev\n0 1 2 | tty 0 fifo 1 seek -1 | node-even node-even pid 10000\n"
      "read a line\nscanned 1 77\n");
  EXPECT_EQ(output_of(result, 1),
            "printf 1\nwrite\nwritev\n0 1 2 | tty 0 fifo 1 seek -1 | node-odd node-odd pid 10001\n"
            "read end of file\nscanned -1 -1\n");
  EXPECT_EQ(output_of(result, 0, 2).substr(0, 10), "to stderr\n");
  EXPECT_NE(output_of(result, 0, 2).find("perror: "), std::string::npos);
}

TEST(Process, TurnsStandardOutputIntoAFilePerRank) {
  REQUIRE_PROGRAMS();
  const std::string path = testing::TempDir() + "/loader-freopen";
  const RunResult result = run_probe("-n 2", "descriptors", path);
  for (int rank = 0; rank < 2; ++rank) {
    std::stringstream content;
    content << std::ifstream(path + "." + std::to_string(rank)).rdbuf();
    EXPECT_EQ(content.str(), "into the file " + std::to_string(rank) + "\n");
    EXPECT_EQ(output_of(result, rank).find("into the file"), std::string::npos);
    unlink((path + "." + std::to_string(rank)).c_str());
  }
}

TEST(Process, DeliversASignalToTheRankThatSentIt) {
  REQUIRE_PROGRAMS();
  const RunResult result = run_probe("-n 2", "signals", "user");
  EXPECT_EQ(output_of(result, 0), "own\nhandled 20\n");
  EXPECT_EQ(output_of(result, 1), "default\n");
}

TEST(Process, LetsARankCatchItsOwnFaults) {
  REQUIRE_PROGRAMS();
  const RunResult result = run_probe("-n 2", "signals", "caught");
  for (int rank = 0; rank < 2; ++rank) {
    const std::string line = "rank " + std::to_string(rank) + " caught 11 at 0x10\n";
    EXPECT_EQ(output_of(result, rank), line + line + line);
    EXPECT_EQ(status_of(result, rank), 0);
  }
}

TEST(Process, ReportsAFaultWithRankAddressAndFunctions) {
  REQUIRE_PROGRAMS();
  const RunResult result = run_probe("-n 2", "signals", "fault");
  EXPECT_NE(result.text.find("rank 1 crashed: segmentation fault at address 0x10"),
            std::string::npos)
      << result.text;
  EXPECT_NE(result.text.find("#0 fault_here+0x"), std::string::npos) << result.text;
  EXPECT_NE(result.text.find("main+0x"), std::string::npos) << result.text;
  EXPECT_EQ(result.status, 128 + 11);
}

TEST(Process, TellsAStackOverflowFromOtherFaults) {
  REQUIRE_PROGRAMS();
  const RunResult result = run_probe("-n 2", "signals", "overflow");
  EXPECT_NE(result.text.find("rank 1 overflowed its stack of 256 kB"), std::string::npos)
      << result.text;
  EXPECT_NE(result.text.find("hint: give ranks more with --stack-size"), std::string::npos);
  EXPECT_NE(result.text.find("overflow+0x"), std::string::npos);
  EXPECT_EQ(result.status, 128 + 11);
}

TEST(Process, ReportsADivisionByZero) {
  REQUIRE_PROGRAMS();
  const RunResult result = run_probe("-n 2", "signals", "divide");
  EXPECT_NE(result.text.find("rank 1 crashed: arithmetic error"), std::string::npos) << result.text;
  EXPECT_EQ(result.status, 128 + 8);
}

}  // namespace
}  // namespace sesame::loader
