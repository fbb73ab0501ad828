// Libraries that ranks open while they run.
#include <unistd.h>

#include "core/loader/testing/probe_runner.h"

namespace sesame::loader {
namespace {

TEST(Plugins, AreLikeThoseOfAnOrdinaryProcess) {
  REQUIRE_PROGRAMS();
  // By path, by the program's run path, by LD_LIBRARY_PATH and relative to the directory.
  if (access("/usr/bin/mpiexec.mpich", X_OK) != 0) GTEST_SKIP() << "no mpiexec.mpich";
  const std::string user = program_path("plugin_user"), plugins = program_path("plugins");
  const std::string ways[] = {user + " " + plugins + "/plugin.so " + plugins + "/other.so",
                              user + " plugin.so other.so", "'$ORIGIN/plugins/plugin.so' other.so",
                              "cd " + plugins + " && " + user + " ./plugin.so ../plugins/other.so"};
  for (const std::string& way : ways) {
    const size_t cut = way.find(user);
    const std::string before = cut == std::string::npos ? "" : way.substr(0, cut);
    const std::string command = cut == std::string::npos ? user + " " + way : way.substr(cut);
    const RunResult real = run_command(before + "mpiexec.mpich -n 1 " + command);
    ASSERT_EQ(real.status, 0) << real.text;
    const RunResult simulated =
        run_command(before + SESAME_LOADER_PROBE " -n 1 --private 'libhelper*' " + command);
    EXPECT_EQ(output_of(simulated, 0), real.text) << way;
    EXPECT_EQ(status_of(simulated, 0), 0) << simulated.text;
  }
}

TEST(Plugins, AreEachRanksOwnWithTheLibrariesThatKeepState) {
  REQUIRE_PROGRAMS();
  const RunResult result =
      run_probe("-n 3 --private 'libhelper*'", "plugin_user", "plugin.so other.so");
  for (int rank = 0; rank < 3; ++rank) {
    const int by = rank + 1;
    const auto sum = [&](int calls) {
      return std::to_string(1000 + calls * by + 30000 + calls * by + 500000 + rank);
    };
    const std::string text = output_of(result, rank);
    EXPECT_NE(text.find("add " + sum(1) + " " + sum(2) + "\n"), std::string::npos) << result.text;
    EXPECT_NE(text.find("total " + std::to_string(100 + 2 * by) + " local " +
                        std::to_string(7 + 2 * by) + "\n"),
              std::string::npos)
        << text;
  }
}

TEST(Plugins, AreFoundByTheLibraryPathOfTheEnvironment) {
  REQUIRE_PROGRAMS();
  const RunResult result = run_command("d=$(mktemp -d) && cp -r " + program_path("plugins") +
                                       "/. $d && cp " + program_path("plugin_user") +
                                       " $d/user && LD_LIBRARY_PATH=$d " SESAME_LOADER_PROBE
                                       " -n 2 $d/user plugin.so other.so; s=$?; rm -r $d; exit $s");
  EXPECT_EQ(result.status, 0) << result.text;
  EXPECT_NE(output_of(result, 1).find("plugin begins\n"), std::string::npos) << result.text;
}

TEST(Plugins, AreRefusedInWordsWhenDamaged) {
  REQUIRE_PROGRAMS();
  const RunResult result = run_command(
      "d=$(mktemp -d) && head -c 9000 " + program_path("plugins/plugin.so") + " > $d/cut.so && " +
      SESAME_LOADER_PROBE " -n 1 " + program_path("plugin_user") + " $d/cut.so other.so; rm -r $d");
  EXPECT_NE(output_of(result, 0).find("is a damaged ELF file"), std::string::npos) << result.text;
  EXPECT_EQ(status_of(result, 0), 1);
}

}  // namespace
}  // namespace sesame::loader
