// Thread-local variables of programs, and threads that ranks start.
#include <unistd.h>

#include "core/loader/testing/probe_runner.h"

namespace sesame::loader {
namespace {

std::string line(int number, int zero, const std::string& word, const std::string& first,
                 int library, int error) {
  const auto text = [](int value) { return std::to_string(value); };
  return text(number) + " " + text(zero) + " " + word + " line 0 " + first + " second " +
         text(100 + library) + " " + text(200 + library) + " " + text(300 + library) + " errno " +
         text(error) + "\n";
}

TEST(Threads, GivesEveryRankItsThreadLocalVariablesAndThoseOfItsThreads) {
  REQUIRE_PROGRAMS();
  const RunResult result = run_probe("-n 3 --private 'libthreads*'", "thread_local");
  for (int rank = 0; rank < 3; ++rank) {
    const std::string word = rank % 2 == 0 ? "zero" : "one";
    const std::string own =
        line(5 + rank, 10 * rank, word, "first" + std::to_string(rank), rank, 40 + rank);
    // A thread begins with the first values, and destroys its objects at its end. The end of the
    // main thread comes before that of the program.
    EXPECT_EQ(output_of(result, rank),
              own + line(5, 0, "one", "first", 0, 0) + "destroy second\ndestroy first\n" + own +
                  "destroy second\ndestroy first" + std::to_string(rank) + "\ndestroy global\n")
        << result.text;
    EXPECT_EQ(status_of(result, rank), 0);
  }
}

TEST(Threads, AreLikeThoseOfAnOrdinaryProcess) {
  REQUIRE_PROGRAMS();
  if (access("/usr/bin/mpiexec.mpich", X_OK) != 0) GTEST_SKIP() << "no mpiexec.mpich";
  const RunResult real = run_command("mpiexec.mpich -n 1 " + program_path("thread_local"));
  ASSERT_EQ(real.status, 0) << real.text;
  const RunResult simulated = run_probe("-n 1 --private 'libthreads*'", "thread_local");
  EXPECT_EQ(output_of(simulated, 0), real.text);
}

TEST(Threads, RefusesMoreThreadLocalVariablesThanFit) {
  REQUIRE_PROGRAMS();
  const RunResult result = run_command(
      "d=$(mktemp -d) && cd $d && printf '#include <mpi.h>\n__thread char large[100000];"
      "int main(int c,char**v){return MPI_Init(&c,&v)+large[c];}' > l.c && mpicc.mpich l.c -o l "
      "&& " +
      std::string(SESAME_LOADER_PROBE) + " ./l; s=$?; rm -r $d; exit $s");
  EXPECT_EQ(result.status, 2);
  EXPECT_NE(result.text.find("take 100000 bytes, aligned to"), std::string::npos) << result.text;
  EXPECT_NE(result.text.find("expected at most 65536"), std::string::npos) << result.text;
}

}  // namespace
}  // namespace sesame::loader
