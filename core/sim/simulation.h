// The one place that joins the rooms: a scenario in, a simulation, its result out. A process runs
// one simulation, since the target programs' C library state is the process's.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/loader/loader.h"
#include "core/machine/machine.h"
#include "core/mpi/world.h"
#include "core/sim/raw_recorder.h"
#include "core/sim/scenario.h"

namespace sesame::sim {

enum class Outcome { kCompleted, kFailed, kAborted, kDeadlock };

class Simulation {
 public:
  // Reads the machine, inspects the program and loads every rank. Wrong input is an Error.
  static Result<std::unique_ptr<Simulation>> prepare(const Scenario& scenario);
  ~Simulation();

  // Runs to the end, whatever it is, and writes result.json. The process's exit status.
  Result<int> run();

  const Scenario& scenario() const { return scenario_; }
  const machine::Machine& machine() const { return machine_; }
  const mpi::World& world() const { return *world_; }
  Outcome outcome() const { return outcome_; }
  const std::string& outcome_text() const { return outcome_text_; }
  int exit_status() const { return exit_status_; }
  // The files that the raw records name by number.
  std::vector<std::string> recorded_files() const {
    return recorder_ == nullptr ? std::vector<std::string>{} : recorder_->files();
  }
  double startup_seconds() const { return startup_seconds_; }
  double wall_seconds() const { return wall_seconds_; }

 private:
  friend struct Hooks;  // the loader's and the executive's calls back (simulation.cc)

  Simulation(Scenario scenario, machine::Machine machine, network::Network network);
  Result<> load_ranks();
  Result<> read_compute_times();
  void set_hooks();
  void judge();
  void report_progress(bool always);

  Scenario scenario_;
  machine::Machine machine_;
  std::unique_ptr<mpi::World> world_;
  std::unique_ptr<pdes::StackPool> stacks_;
  std::unique_ptr<loader::ProgramImage> image_;
  loader::LaunchArguments launch_;  // shared by the ranks
  std::vector<loader::RankProcessPtr> processes_;
  std::unique_ptr<RawRecorder> recorder_;
  Outcome outcome_ = Outcome::kCompleted;
  std::string outcome_text_;
  int exit_status_ = 0;
  int ended_ranks_ = 0;
  double startup_seconds_ = 0;
  double wall_seconds_ = 0;
  double begin_seconds_ = 0;
  double last_progress_seconds_ = 0;
};

}  // namespace sesame::sim
