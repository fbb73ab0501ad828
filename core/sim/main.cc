// The simulator process, one program for each MPI binary interface:
//   sesame-simulator-…  SCENARIO.json       runs it; exit status: that of the simulated job, 2 for
//                                           wrong input, 130 when interrupted
//   sesame-simulator-…  --inspect PROGRAM [fibers|processes]
//       prints as JSON which MPI binary interface a program needs, and whether its ranks will be
//       fibers or processes, or can be what is asked for
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/loader/loader.h"
#include "core/sim/process_ranks.h"
#include "core/sim/result.h"
#include "core/sim/scenario.h"
#include "core/sim/simulation.h"

namespace {

constexpr int kWrongInput = 2;
constexpr int kInterrupted = 130;

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
  return print_inspected("fibers", why.empty() ? "it can be copied" : why, program->path,
                         program->interface);
}

// All files of a run are in a directory that the parent process made and removes.
void interrupt(int) {
  sesame::sim::end_process_ranks();
  sesame::loader::host_exit(kInterrupted);
}

// `is_further`: another host reads the same scenario and says what is wrong with it.
int simulate(const char* path, bool is_further) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);  // the parent removes the files that this process leaves
  signal(SIGINT, interrupt);
  signal(SIGTERM, interrupt);
  signal(SIGPIPE, SIG_IGN);
  auto scenario = sesame::sim::read_scenario(path);
  if (!scenario) return is_further ? kWrongInput : refuse(scenario.error());
  auto simulation = sesame::sim::Simulation::prepare(*scenario);
  if (!simulation && is_further) {
    sesame::sim::tell_first_host(scenario->hosts, simulation.error());
    return kWrongInput;
  }
  if (!simulation) return refuse(simulation.error());
  const auto status = (*simulation)->run();
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
  if ((argc == 2 || is_further) && argv[1][0] != '-') return simulate(argv[1], is_further);
  std::fprintf(stderr,
               "usage: %s SCENARIO.json [--further-host] | --inspect PROGRAM [fibers|processes]\n",
               argv[0]);
  return kWrongInput;
}
