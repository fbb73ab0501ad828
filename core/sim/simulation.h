// A simulation: connects machine, network, storage, MPI, loader and recording for one scenario.
//
// Use: prepare(), then run() once, which writes tables and raw streams into the scenario's
// directory, then write_result() (result.h). A process runs one simulation, because it holds the C
// library state that the target program's ranks replace. One thread.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/loader/loader.h"
#include "core/machine/machine.h"
#include "core/mpi/messages/world.h"
#include "core/sim/open_mpi_environment.h"
#include "core/sim/parallel_run.h"
#include "core/sim/process_ranks.h"
#include "core/sim/recording.h"
#include "core/sim/scenario.h"

namespace sesame::sim {

enum class Outcome { kCompleted, kFailed, kAborted, kDeadlock };

class Simulation {
 public:
  // Reads the machine file, inspects the program and loads every rank. Wrong input is an Error;
  // nothing of the program has run by then.
  static Result<std::unique_ptr<Simulation>> prepare(const Scenario& scenario);
  ~Simulation();

  // Runs the ranks until all have ended, the job is aborted or deadlocked, and writes the records.
  // Returns the exit status of the job; an Error when records cannot be written.
  Result<int> run();

  const Scenario& scenario() const { return scenario_; }
  const machine::Machine& machine() const { return machine_; }
  const mpi::World& world() const { return *world_; }
  Outcome outcome() const { return outcome_; }
  // One or more lines for the user; empty when the job completed.
  const std::string& outcome_text() const { return outcome_text_; }
  int exit_status() const { return exit_status_; }
  // Null when nothing is recorded.
  const Recording* recording() const { return recording_.get(); }
  // After run(): the program asks for what only ranks that are processes have. Nothing else of this
  // simulation is of use; the one with processes has to begin.
  bool needs_processes() const { return needs_processes_; }
  bool has_process_ranks() const { return process_ranks_ != nullptr; }
  // Null where one process simulates all ranks.
  const ParallelRun* parallel() const { return parallel_.get(); }
  // Until the ranks were loaded.
  double startup_seconds() const {
    return parallel_ != nullptr ? parallel_->startup_seconds() : startup_seconds_;
  }
  double wall_seconds() const { return wall_seconds_; }  // of run(), without writing records
  // Peak resident memory, summed over workers, until run() began to write records.
  int64_t peak_memory_bytes() const { return peak_memory_bytes_; }
  // The most that a rank has in memory of its stack, bytes; 0: not known, as with several workers.
  size_t deepest_stack() const;
  // How many ranks compute at the same time, at most, while their computation is measured; or did
  // when it was recorded.
  int computed_together() const;

 private:
  friend struct Hooks;  // callbacks of the loader and the executive (simulation.cc)

  Simulation(Scenario scenario, machine::Machine machine, network::Network network);
  Result<> load_ranks();
  Result<> start_processes();
  // Forks them; afterwards this process is one or the supervisor.
  Result<> start_workers();
  size_t count_ranks_here() const;
  ProcessRank process_rank(const loader::ProcessProgram& program,
                           const loader::LaunchArguments& launch, const RankPlace& place, int node,
                           const std::vector<int>& taken) const;
  Result<> enter_working_directory() const;
  Result<> check_that_mpi_was_used() const;
  void choose_collectives();
  Result<> read_compute_times();
  Result<> start_recording();
  void take_recorded_times(mpi::Rank& rank);
  void begin_rank(mpi::Rank& rank, loader::RankProcessPtr process, pdes::Stack stack);
  void measure_compute(mpi::Rank& rank) const;
  void share_node(mpi::Rank& rank, const std::vector<int>& taken) const;
  double slowdown_on(int node, const std::vector<int>& taken) const;
  int64_t epoch_ns() const;
  void set_hooks();
  bool simulates(const mpi::Rank& rank) const;
  bool is_worker() const { return parallel_ != nullptr && !parallel_->is_supervisor(); }
  bool can_record() const;
  Result<> simulate_ranks();
  Result<> supervise();
  void determine_outcome();
  RunProgress progress() const;
  void report_progress(bool always);
  void show_progress(const RunProgress& progress);

  // launches.cc
  const loader::LaunchArguments& make_launch();
  std::vector<RankPlace> first_places() const;
  void make_environment(loader::LaunchArguments* launch) const;
  // What mpirun would add to the environment; nothing for programs of another MPI.
  void add_open_mpi_variables(loader::LaunchArguments* launch,
                              const std::vector<StartedProgram>& programs, size_t program) const;
  std::string own_variables(const RankPlace& place) const;

  // spawn.cc
  struct Loaded {
    loader::RankProcessPtr process;
    pdes::Stack stack;
    int program;  // which command of the spawn
  };
  Result<> spawn(std::vector<mpi::ProgramStart>& programs, int parent_port);
  // May fail only before the ranks are part of the run; spawn() then gives back what was loaded.
  Result<> start_spawned(std::vector<mpi::ProgramStart>& programs, int parent_port,
                         std::vector<Loaded>* copies);
  // How each command is started; appended to launches_.
  void add_launches(const std::vector<mpi::ProgramStart>& programs);
  // `nodes`: those of the ranks, command after command. Their last launches are those of the
  // commands.
  Result<> load_spawned(const std::vector<mpi::ProgramStart>& programs,
                        const std::vector<int>& nodes, std::vector<Loaded>* copies);
  // The same where ranks are processes: Loaded::process is null, and the processes have started.
  Result<> start_spawned_processes(const std::vector<mpi::ProgramStart>& programs,
                                   const std::vector<int>& nodes, std::vector<Loaded>* copies);
  Result<loader::ProcessProgram> find_process_program(const mpi::ProgramStart& start) const;
  Result<> check_interface(const std::string& command, loader::BinaryInterface interface) const;
  // The program ready for copying.
  Result<loader::ProgramImage*> open_image(const std::string& command);
  Result<std::vector<int>> place_spawned(std::vector<mpi::ProgramStart>& programs,
                                         SimTime now) const;
  std::vector<int> occupied_cores(SimTime now) const;
  std::vector<int> named_nodes(const std::string& hosts) const;

  Scenario scenario_;
  machine::Machine machine_;
  std::unique_ptr<mpi::World> world_;
  std::unique_ptr<pdes::StackPool> stacks_;
  std::unique_ptr<pdes::StackPool> spawned_stacks_;
  std::map<std::string, std::unique_ptr<loader::ProgramImage>> images_;  // by path
  std::optional<loader::BinaryInterface> interface_;                     // of all programs
  // One for each program started, shared by its ranks; the first is the scenario's program.
  std::deque<loader::LaunchArguments> launches_;
  std::vector<std::vector<int64_t>> recorded_times_;  // by rank, until it begins
  std::vector<loader::RankProcessPtr> processes_;
  bool needs_processes_ = false;
  // Null: ranks are fibers with copies of the program.
  std::unique_ptr<ProcessRanks> process_ranks_;
  std::unique_ptr<ParallelRun> parallel_;  // null: this process simulates all ranks
  std::unique_ptr<Recording> recording_;
  bool mpi_was_used_ = false;  // by a rank that is a process
  Outcome outcome_ = Outcome::kCompleted;
  std::string outcome_text_;
  int exit_status_ = 0;
  int ended_ranks_ = 0;
  double startup_seconds_ = 0;
  double wall_seconds_ = 0;
  int64_t peak_memory_bytes_ = 0;
  double begin_seconds_ = 0;
  double last_progress_seconds_ = 0;
};

}  // namespace sesame::sim
