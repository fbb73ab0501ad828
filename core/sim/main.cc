// The simulator process, one program for each MPI binary interface:
//   sesame-simulator-…  SCENARIO.json       runs it; exit status: that of the simulated job, 2 for
//                                           wrong input, 130 when interrupted
//                                           With --with-processes, sesame-simulator-processes
//                                           continues a run that another one has started.
//   sesame-simulator-…  --inspect PROGRAM [fibers|processes]
//       prints as JSON which MPI binary interface a program needs, and whether its ranks will be
//       fibers or processes, or can be what is asked for
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/loader/loader.h"
#include "core/sim/parallel_run.h"
#include "core/sim/process_ranks.h"
#include "core/sim/result.h"
#include "core/sim/scenario.h"
#include "core/sim/simulation.h"

namespace {

constexpr int kWrongInput = 2;
constexpr int kInterrupted = 130;
constexpr char kWithProcesses[] = "--with-processes";

// Prints an error as the command line prints its own. After --inspect the command line reads the
// text and prints it itself, hence without prefix.
int refuse(const sesame::Error& error, const char* prefix = "error: ") {
  std::fprintf(stderr, "%s%s\n", prefix, error.to_string().c_str());
  return kWrongInput;
}

int print_inspected(const char* ranks_as, const std::string& why, const std::string& path,
                    std::optional<sesame::loader::BinaryInterface> interface) {
  nlohmann::json json{{"ranks_as", ranks_as}, {"why", why}, {"path", path}, {"interface", nullptr}};
  if (interface) json["interface"] = sesame::loader::name_of(*interface);
  std::printf("%s\n", json.dump().c_str());
  return 0;
}

// `ranks_as`: "fibers", "processes", or "" for fibers where they are possible.
int inspect(const char* name, const std::string& ranks_as) {
  using namespace sesame::loader;
  std::string why = "you asked for it";
  if (ranks_as.empty()) why = reason_for_processes(name);
  if (ranks_as == "processes" || (ranks_as.empty() && !why.empty())) {
    auto program = inspect_for_processes(name);
    if (!program) return refuse(program.error(), "");
    return print_inspected("processes", why, program->path, program->interface);
  }
  auto program = inspect_program(name);
  if (!program) return refuse(program.error(), "");
  if (why.empty()) why = "it can be copied";
  if (ranks_as.empty() && may_ask_for_threads(program->path))
    why += "; if it asks for MPI_THREAD_MULTIPLE, each is a process";
  return print_inspected("fibers", why, program->path, program->interface);
}

// All files of a run are in a directory that the parent process made and removes.
void interrupt(int) {
  sesame::sim::end_process_ranks();
  sesame::sim::end_all_workers();
  sesame::loader::host_exit(kInterrupted);
}

// Where this process was started: what a scenario names may be relative to it.
class StartingPoint {
 public:
  StartingPoint()
      : directory_(open(".", O_PATH | O_CLOEXEC)), input_(lseek(STDIN_FILENO, 0, SEEK_CUR)) {}

  // Becomes the simulator whose ranks are processes, for the same scenario, which is in the file at
  // `path`. Returns only if that fails. New ranks find nothing that the program has made or opened,
  // and read standard input from where it was, unless it is a pipe or a terminal.
  int become_simulator_of_processes(const char* path, const sesame::sim::Scenario& scenario) const {
    std::error_code ignored;
    for (const char* made : {"/files", "/raw"})
      std::filesystem::remove_all(scenario.output_directory + made, ignored);
    if (directory_ >= 0 && fchdir(directory_) == 0) {
      const auto own = std::filesystem::read_symlink("/proc/self/exe");
      const std::string other = own.parent_path() / "sesame-simulator-processes";
      close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
      if (input_ >= 0) lseek(STDIN_FILENO, input_, SEEK_SET);
      if (scenario.progress_descriptor >= 0) fcntl(scenario.progress_descriptor, F_SETFD, 0);
      execl(other.c_str(), other.c_str(), path, kWithProcesses, nullptr);
    }
    return refuse(
        {.message = std::string("cannot begin again with processes: ") + std::strerror(errno)});
  }

 private:
  int directory_;
  off_t input_;  // of standard input, in bytes; -1: it has no offset
};

// `is_further`: another host reads the same scenario and says what is wrong with it.
// `is_again`: a simulator with fibers has started this run.
int simulate(const char* path, bool is_further, bool is_again) {
  const StartingPoint start;
  prctl(PR_SET_PDEATHSIG, SIGTERM);  // the parent removes the files that this process leaves
  signal(SIGINT, interrupt);
  signal(SIGTERM, interrupt);
  signal(SIGPIPE, SIG_IGN);
  auto scenario = sesame::sim::read_scenario(path);
  if (!scenario) return is_further ? kWrongInput : refuse(scenario.error());
  scenario->is_repeated = is_again;
  auto simulation = sesame::sim::Simulation::prepare(*scenario);
  if (!simulation && is_further) {
    sesame::sim::tell_first_host(scenario->hosts, simulation.error());
    return kWrongInput;
  }
  if (!simulation) return refuse(simulation.error());
  const auto status = (*simulation)->run();
  if ((*simulation)->needs_processes()) return start.become_simulator_of_processes(path, *scenario);
  const std::string& text = (*simulation)->outcome_text();
  if (!text.empty()) std::fprintf(stderr, "sesame: %s\n", text.c_str());
  if (!status) return refuse(status.error());
  auto written =
      sesame::sim::write_result(**simulation, scenario->output_directory + "/result.json");
  if (!written) return refuse(written.error());
  std::fflush(nullptr);
  // Exit handlers and destructors of the programs' libraries must not run: their ranks have ended.
  _exit(*status);
}

}  // namespace

int main(int argc, char** argv) {
  if ((argc == 3 || argc == 4) && std::strcmp(argv[1], "--inspect") == 0)
    return inspect(argv[2], argc == 4 ? argv[3] : "");
  const bool is_further = argc == 3 && std::strcmp(argv[2], "--further-host") == 0;
  const bool is_again = argc == 3 && std::strcmp(argv[2], kWithProcesses) == 0;
  if ((argc == 2 || is_further || is_again) && argv[1][0] != '-')
    return simulate(argv[1], is_further, is_again);
  std::fprintf(stderr,
               "usage: %s SCENARIO.json [--further-host|%s] | "
               "--inspect PROGRAM [fibers|processes]\n",
               argv[0], kWithProcesses);
  return kWrongInput;
}
