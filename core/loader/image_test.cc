// Copies of programs and of private libraries in C, C++ and Fortran.
#include <unistd.h>

#include <cstdio>

#include "core/loader/testing/probe_runner.h"

namespace sesame::loader {
namespace {

TEST(Image, GivesEveryRankItsOwnGlobalsAndStatics) {
  REQUIRE_PROGRAMS();
  for (const char* program : {"globals", "globals_stripped", "globals_one_segment", "globals_gold",
                              "globals_packed", "globals_no_plt"}) {
    const RunResult result = run_probe("-n 3", program);
    EXPECT_EQ(output_of(result, 0), "6 10 7 102 one\n") << program << "\n" << result.text;
    EXPECT_EQ(output_of(result, 1), "7 20 14 103 two\n");
    EXPECT_EQ(output_of(result, 2), "8 30 21 104 three\n");
    EXPECT_EQ(status_of(result, 2), 2);
  }
}

std::string classes_output(int rank, const std::string& word) {
  const std::string pi = rank == 0 ? "3.142 1" : "3.1416 2";
  const std::string caught = rank == 0 ? "17" : "inner";
  const std::string unwound = "destroy unwound\n", built = "construct unwound\n";
  return "construct one\nconstruct two\nconstruct local\n" + pi + "\n" + built + built + built +
         unwound + unwound + unwound + "caught " + caught + " within from the depth\n" + "read " +
         word + "\nslept " + (rank == 0 ? "3600.000" : "3600.0000") + "\n";
}

TEST(Image, RunsConstructorsStreamsAndExceptionsOfCxxPerRank) {
  REQUIRE_PROGRAMS();
  for (const char* program : {"classes", "classes_pic"}) {
    const RunResult result = run_probe("-n 2", program, "", "word\\n");
    const std::string end = "destroy local\ndestroy two\ndestroy one\n";
    EXPECT_EQ(output_of(result, 0), classes_output(0, "word") + end) << result.text;
    EXPECT_EQ(output_of(result, 1), classes_output(1, "nothing") + end) << result.text;
    EXPECT_EQ(output_of(result, 1, 2), "error stream 1\n");
    EXPECT_EQ(status_of(result, 0), 0);
  }
}

TEST(Image, AbortsTheJobOnAnUncaughtException) {
  REQUIRE_PROGRAMS();
  const RunResult result = run_probe("-n 2", "classes", "throw");
  EXPECT_NE(output_of(result, 1, 2).find("what():  from the depth"), std::string::npos)
      << result.text;
  EXPECT_NE(result.text.find("sesame: rank 1 called abort()"), std::string::npos);
  EXPECT_EQ(result.status, 128 + 6);
}

TEST(Image, RunsFortranWithUnitsPerRankAndFlushesThem) {
  REQUIRE_PROGRAMS();
  const RunResult result = run_probe("-n 2", "fortran", "", "321\\n");
  EXPECT_EQ(output_of(result, 0),
            " count          40   1.0000000000000000     \nnumber 321 end F\nticks 0 cpu 0.0050\n"
            "scratch 0\ninner 7 of 0\n");
  EXPECT_EQ(output_of(result, 1),
            " count          41   2.0000000000000000     \nnumber -1 end T\nticks 0 cpu 0.0050\n"
            "scratch 1\ninner 7 of 1\n");
  EXPECT_EQ(output_of(result, 1, 2), "error unit 1\nSTOP 3\n");
  EXPECT_EQ(status_of(result, 0), 0);
  EXPECT_EQ(status_of(result, 1), 3);
}

TEST(Image, CopiesALibraryWithStateThreadStorageAndVariablesOfTheProgram) {
  REQUIRE_PROGRAMS();
  const RunResult result = run_probe("-n 2", "library_user");
  // calls + constructed, library_value, thread-local, relocated name, the program's own answer
  EXPECT_EQ(output_of(result, 0), "1.266 -1\n7 13 1001 beta 42 21\n") << result.text;
  EXPECT_EQ(output_of(result, 1), "0.860 1\n8 14 1002 beta 42 21\n") << result.text;
}

// Runs a shell command where /dev/shm is a file system of its own, empty at first: MPI jobs,
// databases and browsers of other tests come and go in that of the machine.
RunResult run_with_own_shared_memory(const std::string& command) {
  return run_command("unshare --map-root-user --mount sh -c 'mount -t tmpfs tmpfs /dev/shm && { " +
                     command + "; }'");
}

TEST(Image, LeavesNothingInSharedMemory) {
  REQUIRE_PROGRAMS();
  if (run_with_own_shared_memory("true").status != 0)
    GTEST_SKIP() << "user namespaces are not permitted here";
  // So many ranks that also a fast machine is still at it: 2,000 take 1.2 s here.
  for (const char* seconds : {"0.02", "0.05", "0.1"}) {
    const RunResult result = run_with_own_shared_memory(
        std::string("{ timeout -s KILL ") + seconds + " " SESAME_LOADER_PROBE " -n 8000 " +
        program_path("fortran") + "; } >/dev/null 2>&1; echo $?; ls -A /dev/shm");
    EXPECT_EQ(result.text, "137\n") << "killed after " << seconds << " s";
  }
}

TEST(Image, LoadsAThousandRanksInLittleTimeAndMemory) {
  REQUIRE_PROGRAMS();
  for (const char* program : {"globals", "fortran"}) {
    const RunResult result = run_probe("-n 1000 --measure", program);
    double load_us = 0, memory_kb = 0, run_us = 0, mappings = 0, expected_mappings = 0;
    ASSERT_EQ(
        sscanf(result.text.c_str(),
               "1000 ranks: load %lf us and %lf kB per rank with the whole run; run %lf us per "
               "rank; mappings per rank %lf, expected %lf",
               &load_us, &memory_kb, &run_us, &mappings, &expected_mappings),
        5)
        << result.text.substr(0, 400);
    printf("%s: %s", program, result.text.substr(0, result.text.find('\n') + 1).c_str());
    EXPECT_LT(memory_kb, 96) << "stack and output included";
    EXPECT_LE(mappings, expected_mappings + 0.1) << "check_mapping_limit would be too generous";
    EXPECT_LT(load_us, 2000) << "on a busy machine; see bench/ for the figure";
  }
}

}  // namespace
}  // namespace sesame::loader
