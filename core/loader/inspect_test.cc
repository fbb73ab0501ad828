// Which programs are refused, with which messages, and what is found out about the others.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/loader/closure.h"
#include "core/loader/loader.h"
#include "core/loader/resolve.h"
#include "core/loader/testing/probe_runner.h"

namespace sesame::loader {
namespace {

namespace fs = std::filesystem;

class Inspect : public testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/loader-inspect-XXXXXX";
    directory_ = mkdtemp(pattern);
  }
  void TearDown() override { fs::remove_all(directory_); }

  std::string file(const std::string& name, const std::string& content, int mode = 0755) {
    const std::string path = directory_ + "/" + name;
    std::ofstream(path, std::ios::binary) << content;
    chmod(path.c_str(), static_cast<mode_t>(mode));
    return path;
  }

  static std::string content_of(const std::string& path) {
    std::stringstream content;
    content << std::ifstream(path, std::ios::binary).rdbuf();
    return content.str();
  }

  static std::string refusal(const std::string& name) {
    const Result<Program> program = inspect_program(name);
    return program ? "accepted" : program.error().to_string();
  }

  std::string directory_;
};

void expect_words(const std::string& text, std::initializer_list<const char*> words) {
  for (const char* word : words) EXPECT_NE(text.find(word), std::string::npos) << text;
}

TEST_F(Inspect, NamesAProgramThatIsNotOnPath) {
  expect_words(refusal("no-such-program-here"),
               {"no program 'no-such-program-here' on PATH", "hint"});
}

TEST_F(Inspect, NamesAFileThatDoesNotExist) {
  expect_words(refusal("./no/such/file"), {"no program './no/such/file'", "No such file"});
}

TEST_F(Inspect, RefusesADirectory) { expect_words(refusal("/usr/lib"), {"is a directory"}); }

TEST_F(Inspect, RefusesAFileThatMayNotBeExecuted) {
  expect_words(refusal(file("data", "x", 0644)), {"is not executable", "chmod +x"});
}

TEST_F(Inspect, RefusesASourceAndSaysThatItIsCompiledFirst) {
  for (const char* source : {"halo.c", "halo.cpp", "halo.f90"})
    expect_words(refusal(file(source, "int main", 0644)), {"is not executable", "makes of this"});
}

TEST_F(Inspect, RefusesAScriptAndShowsItsFirstLine) {
  expect_words(refusal(file("run.sh", "#!/bin/sh\nexec ./ring\n")),
               {"is a script (#!/bin/sh)", "hint"});
}

TEST_F(Inspect, RefusesWhatIsNoElfFile) {
  expect_words(refusal(file("text", std::string(200, 'x'))), {"is not an ELF executable"});
  expect_words(refusal(file("empty", "")), {"is not an ELF executable"});
}

TEST_F(Inspect, RefusesOtherMachines) {
  std::string program = content_of(program_path("plain"));
  program[4] = 1;  // EI_CLASS
  expect_words(refusal(file("narrow", program)), {"32-bit", "expected 64-bit x86-64"});
  program[4] = 2;
  program[18] = static_cast<char>(183);  // e_machine: AArch64
  expect_words(refusal(file("arm", program)), {"another processor", "x86-64"});
}

TEST_F(Inspect, RefusesStaticPrograms) {
  expect_words(refusal(program_path("plain_static")), {"statically linked", "not an MPI program"});
}

TEST_F(Inspect, LetsAStaticallyLinkedShellStartThePrograms) {
  for (const std::string name : {"sh", "bash-static", "zsh5-static", "busybox.static"}) {
    const std::string shell = file(name, content_of(program_path("plain_static")));
    EXPECT_EQ(reason_for_processes(shell), name + " starts the program");
    const auto program = inspect_for_processes(shell);
    ASSERT_TRUE(program) << program.error().to_string();
    EXPECT_FALSE(program->interface);
  }
  const std::string other = file("python3", content_of(program_path("plain_static")));
  EXPECT_EQ(reason_for_processes(other), "");
}

TEST_F(Inspect, RefusesProgramsAtAFixedAddress) {
  expect_words(refusal(program_path("plain_fixed")), {"not position-independent", "-pie"});
}

TEST_F(Inspect, RefusesProgramsWithoutMpi) {
  expect_words(refusal(program_path("plain")), {"not an MPI program", "mpicc"});
}

TEST_F(Inspect, RefusesSharedLibraries) {
  REQUIRE_PROGRAMS();
  expect_words(refusal(program_path("liblibrary.so")), {"is a shared library"});
}

std::string linked_to(const std::string& directory, const std::string& library) {
  const std::string build = "cd " + directory + " && echo 'int f(void){return 0;}' > l.c && " +
                            "cc -shared -fPIC l.c -o " + library + " -Wl,-soname," + library +
                            " && echo 'int f(void); int main(void){return f();}' > m.c && " +
                            "cc m.c -o linked ./" + library;
  EXPECT_EQ(run_command(build).status, 0);
  fs::remove(directory + "/" + library);  // known by name alone
  return directory + "/linked";
}

TEST_F(Inspect, RecognisesOpenMpi) {
  const auto program = inspect_program(linked_to(directory_, "libmpi.so.40"));
  ASSERT_TRUE(program) << program.error().to_string();
  EXPECT_STREQ(name_of(program->interface), "openmpi");
}

TEST_F(Inspect, RefusesOldOpenMpi) {
  for (const char* library : {"libmpi.so.20", "libmpi.so.1"})
    expect_words(refusal(linked_to(directory_, library)), {"Open MPI 3 or older", library});
}

// Open MPI 1.10 has the name of MPICH's library: its handles tell.
TEST_F(Inspect, RefusesOpenMpiOneByItsHandles) {
  const std::string build =
      "cd " + directory_ + " && echo 'int ompi_mpi_comm_world; int f(void){return 0;}' > l.c && " +
      "cc -shared -fPIC l.c -o libmpi.so.12 -Wl,-soname,libmpi.so.12 && " +
      "echo 'extern int ompi_mpi_comm_world; int f(void); int g(void)" +
      "{return f() + ompi_mpi_comm_world;}' > m.c && echo 'int g(void); int main(void)" +
      "{return g();}' > p.c && cc m.c p.c -o one ./libmpi.so.12 && " +
      "cc -shared -fPIC m.c -o libuser.so -Wl,-soname,libuser.so ./libmpi.so.12 && " +
      "cc p.c -o two -Wl,-rpath," + directory_ + " ./libuser.so";
  ASSERT_EQ(run_command(build).status, 0);
  expect_words(refusal(directory_ + "/one"), {"Open MPI 3 or older (libmpi.so.12)", "hint"});
  expect_words(refusal(directory_ + "/two"), {"Open MPI 3 or older (libmpi.so.12 for libuser.so)"});
  fs::remove(directory_ + "/libuser.so");
  expect_words(refusal(directory_ + "/two"), {"not found: libuser.so"});
}

TEST_F(Inspect, RefusesTwoMpisAndNamesWhatNeedsTheSecond) {
  const std::string build =
      "cd " + directory_ + " && echo 'int f(void){return 0;}' > l.c && " +
      "cc -shared -fPIC l.c -o libmpi.so.40 -Wl,-soname,libmpi.so.40 && " +
      "echo 'int h(void){return 0;}' > k.c && " +
      "cc -shared -fPIC k.c -o libmpich.so.12 -Wl,-soname,libmpich.so.12 && " +
      "echo 'int h(void); int g(void){return h();}' > u.c && " +
      "cc -shared -fPIC u.c -o libuser.so -Wl,-soname,libuser.so -L. -l:libmpich.so.12 && " +
      "echo 'int f(void); int g(void); int main(void){return f() + g();}' > m.c && " +
      "cc m.c -o mixed -Wl,-rpath," + directory_ + " -L. -l:libmpi.so.40 -l:libuser.so";
  ASSERT_EQ(run_command(build).status, 0);
  expect_words(refusal(directory_ + "/mixed"),
               {"needs both MPICH's binary interface and Open MPI's (libmpich.so.12 for "
                "libuser.so, libmpi.so.40)",
                "hint"});
}

TEST_F(Inspect, NamesMissingLibrariesButNeedsNoMpiLibrary) {
  const std::string build = "cd " + directory_ + " && echo 'int f(void){return 0;}' > l.c && " +
                            "cc -shared -fPIC l.c -o libmpi.so.12 -Wl,-soname,libmpi.so.12 && " +
                            "cc -shared -fPIC l.c -o libgone.so.3 -Wl,-soname,libgone.so.3 && " +
                            "echo 'int f(void); int main(void){return f();}' > m.c && " +
                            "cc m.c -o one -Wl,--no-as-needed ./libmpi.so.12 && "
                            "cc m.c -o two -Wl,--no-as-needed ./libmpi.so.12 ./libgone.so.3 && "
                            "rm lib*";
  ASSERT_EQ(run_command(build).status, 0);
  EXPECT_EQ(refusal(directory_ + "/one"), "accepted");
  expect_words(refusal(directory_ + "/two"), {"not found: libgone.so.3", "LD_LIBRARY_PATH"});
}

TEST_F(Inspect, RefusesSanitizers) {
  REQUIRE_PROGRAMS();
  const std::string build =
      "cd " + directory_ + " && echo 'int MPI_Finalize(void); int main(void)" +
      "{return MPI_Finalize();}' > m.c && " + "mpicc.mpich -fsanitize=address m.c -o watched";
  if (run_command(build).status != 0) GTEST_SKIP() << "no address sanitizer";
  expect_words(refusal(directory_ + "/watched"), {"built with a sanitizer (libasan."});
}

TEST_F(Inspect, FindsAProgramOnPath) {
  REQUIRE_PROGRAMS();
  const std::string path = std::string(SESAME_LOADER_PROGRAMS) + ":" + getenv("PATH");
  setenv("PATH", path.c_str(), 1);
  const Result<Program> program = inspect_program("globals");
  ASSERT_TRUE(program) << program.error().to_string();
  EXPECT_EQ(program->path, fs::canonical(program_path("globals")).string());
  EXPECT_EQ(program->interface, BinaryInterface::kMpich);
  EXPECT_FALSE(program->executable_stack);
}

TEST_F(Inspect, TellsPrivateFromSharedLibraries) {
  REQUIRE_PROGRAMS();
  const Result<Program> program = inspect_program(program_path("fortran"));
  ASSERT_TRUE(program) << program.error().to_string();
  EXPECT_EQ(program->mpi_libraries, std::vector<std::string>{"libmpich.so.12"});
  EXPECT_TRUE(program->executable_stack);  // an internal procedure is passed as an argument
  for (const Library& library : program->libraries) {
    const bool expected =
        library.name == "libgfortran.so.5" || library.name == "libmpichfort.so.12";
    EXPECT_EQ(library.is_private, expected) << library.name;
    EXPECT_NE(library.name, "libucp.so.0") << "only MPICH itself needs it";
  }
}

bool is_private(const std::string& program_name, const std::string& library_name,
                const InspectOptions& options = {}) {
  const Result<Program> program = inspect_program(program_path(program_name), options);
  for (const Library& library : program->libraries)
    if (library.name == library_name) return library.is_private;
  ADD_FAILURE() << "no " << library_name;
  return false;
}

TEST_F(Inspect, MakesLibrariesPrivateByPattern) {
  REQUIRE_PROGRAMS();
  EXPECT_FALSE(is_private("fortran", "libquadmath.so.0"));
  EXPECT_TRUE(is_private("fortran", "libquadmath.so.0", {{"libquad*"}}));
}

TEST_F(Inspect, MakesALibraryPrivateWhoseVariablesTheProgramHolds) {
  REQUIRE_PROGRAMS();
  EXPECT_TRUE(is_private("library_user", "liblibrary.so"));
  EXPECT_FALSE(is_private("classes", "libstdc++.so.6"));  // std::cout
}

TEST_F(Inspect, KnowsTheNamesOfMpiLibraries) {
  EXPECT_EQ(mpi_family("libmpi.so.12"), MpiFamily::kMpich);
  EXPECT_EQ(mpi_family("/opt/mpich/lib/libmpi.so.12.5.0"), MpiFamily::kMpich);
  EXPECT_EQ(mpi_family("libmpi_cray.so.12"), MpiFamily::kMpich);
  EXPECT_EQ(mpi_family("libmpi_abi.so.0"), MpiFamily::kMpiStandard);
  EXPECT_EQ(mpi_family("libmpi_abi.so.1"), MpiFamily::kMpiStandard);
  EXPECT_EQ(mpi_family("libmpi.so.40"), MpiFamily::kOpenMpi);
  EXPECT_EQ(mpi_family("libmpi.so.20"), MpiFamily::kOldOpenMpi);
  EXPECT_EQ(mpi_family("libmpi_mpifh.so.40"), MpiFamily::kOpenMpi);
  EXPECT_EQ(mpi_family("libmpi_usempif08.so.40"), MpiFamily::kNone);
  EXPECT_EQ(mpi_family("libmpichfort.so.12"), MpiFamily::kNone);
  EXPECT_EQ(mpi_family("libmpifort.so.12"), MpiFamily::kNone);
}

TEST_F(Inspect, ComparesMappingsWithTheKernelsLimit) {
  std::ifstream file("/proc/sys/vm/max_map_count");
  int64_t limit = 0;
  ASSERT_TRUE(file >> limit);
  Program program;
  program.name = "ring";
  program.mappings_per_rank = 3;
  const int most = static_cast<int>((limit - 1000) / 5);
  EXPECT_TRUE(check_mapping_limit(program, most, 2));
  const Result<> refused = check_mapping_limit(program, most + 1, 2);
  ASSERT_FALSE(refused);
  expect_words(refused.error().to_string(),
               {"vm.max_map_count", std::to_string(most).c_str(), "sysctl -w vm.max_map_count="});
  // A stack that is a part of a mapping of many takes none.
  EXPECT_TRUE(check_mapping_limit(program, static_cast<int>((limit - 1000) / 3), 0));
}

TEST_F(Inspect, SurvivesDamagedFiles) {
  const std::string whole = content_of(program_path("plain"));
  for (size_t size = 64; size < whole.size(); size += 97)
    EXPECT_NE(refusal(file("cut", whole.substr(0, size))), "accepted");
  uint64_t random = 1;
  for (int round = 0; round < 400; ++round) {
    std::string damaged = whole;
    for (int i = 0; i < 8; ++i) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      damaged[(random >> 33) % 2048] = static_cast<char>(random >> 24);
    }
    refusal(file("damaged", damaged));
  }
}

TEST(Cancels, AreNamedAsCompilersAndMpisDo) {
  for (const char* name : {"MPI_Cancel", "PMPI_Cancel", "MPI_CANCEL", "mpi_cancel", "mpi_cancel_",
                           "pmpi_cancel__", "mpi_cancel_f08_", "__mpi_f08_MOD_mpi_cancel_f08"})
    EXPECT_TRUE(is_name_of_cancel(name)) << name;
  for (const char* name : {"MPI_Test_cancelled", "pmpi_status_set_cancelled_", "MPI_Can", ""})
    EXPECT_FALSE(is_name_of_cancel(name)) << name;
}

// It defines names of MPI_Cancel and refers to others. So does a library that records calls; that
// one may cancel receives of its own.
TEST_F(Inspect, OnlyTheFortranLayerOfAnMpiNeverCancels) {
  const std::string layer = "/usr/lib/x86_64-linux-gnu/libmpichfort.so.12";
  if (access(layer.c_str(), R_OK) != 0) GTEST_SKIP() << "no " << layer;
  const Result<ElfFile> of_mpi = ElfFile::open(layer);
  ASSERT_TRUE(of_mpi);
  EXPECT_FALSE(calls_cancel(*of_mpi));
  const Result<ElfFile> other = ElfFile::open(file("librecorder.so", content_of(layer)));
  ASSERT_TRUE(other);
  EXPECT_TRUE(calls_cancel(*other));
}

}  // namespace
}  // namespace sesame::loader
