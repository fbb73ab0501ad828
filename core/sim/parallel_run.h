// A simulation by several worker processes (docs/models/parallel.md). The process that the command
// started becomes the supervisor: it loads no rank, waits for the workers, which it forked, takes
// in what their ranks did, and writes the result as if it had simulated them all.
//
// Use: check_workers() first, so that what is not simulated in parallel is refused before anything
// runs. fork() returns in every process; is_supervisor() tells them apart. A worker calls join(),
// runs its ranks, and ends with leave(), or with fail() if it cannot run them. The supervisor calls
// supervise(), then take_in(). Where workers are on several hosts, each host has a supervisor, and
// that of the first one continues as if it had forked all workers. Nothing has a name in a file
// system, and a worker ends when its supervisor does. One thread.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <atomic>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/doorbell.h"
#include "core/base/error.h"
#include "core/loader/loader.h"
#include "core/machine/machine.h"
#include "core/mpi/messages/worker_messages.h"
#include "core/mpi/messages/world.h"
#include "core/pdes/synchronizer.h"
#include "core/pdes/workers.h"
#include "core/sim/run_hosts.h"
#include "core/sim/scenario.h"
#include "core/sim/shared_run.h"
#include "core/sim/worker_recorder.h"
#include "core/sim/worker_state.h"

namespace sesame::sim {

class Recording;

// How far a simulation is.
struct RunProgress {
  SimTime latest;  // the clock of the rank that is furthest
  uint64_t messages = 0;
  int ended_ranks = 0;
};

// Whether the scenario can be simulated by scenario.workers workers, with the reason if not.
Result<> check_workers(const Scenario& scenario, const machine::Machine& machine,
                       const mpi::World& world);

// An Error if the kernel admits too few memory mappings for the ranks of each process.
Result<> check_mappings(const loader::Program& program, const Scenario& scenario,
                        const machine::Machine& machine, const mpi::World& world);

class ParallelRun {
 public:
  // `bells`: what each worker waits at, where its ranks are processes, which ring it, too.
  // Otherwise there are none.
  static Result<std::unique_ptr<ParallelRun>> fork(const Scenario& scenario, mpi::World& world,
                                                   const std::vector<Doorbell*>& bells);

  bool is_supervisor() const { return number_ < 0; }
  // Whether this process simulates the rank; the supervisor simulates none.
  bool has(int rank) const { return worker_of_[static_cast<size_t>(rank)] == number_; }

  // No effect of one worker on another takes less time.
  SimTime look_ahead() const;

  // In a worker.
  void join(const Scenario& scenario);
  bool is_stopped() const { return memory_->state().stopped; }
  // The job ends, for the first reason that a worker gives.
  void end_job(int status, const std::string& why);
  bool can_record() const { return recorder_ == nullptr || recorder_->error_number() == 0; }
  // The program of one of this worker's ranks has ended.
  void end_rank();
  void set_progress(const RunProgress& progress);
  void set_startup(double seconds) { shared_->workers[number_].startup_seconds = seconds; }
  void set_begin(double seconds) { shared_->workers[number_].begin_seconds = seconds; }
  int number() const { return number_; }
  // Where the process group of this worker's ranks belongs, for the supervisor to end.
  std::atomic<pid_t>* rank_processes() { return &shared_->workers[number_].rank_processes; }
  // The binary interface that a rank's process uses: that of all workers, which may be another one.
  loader::BinaryInterface agree_on(loader::BinaryInterface interface);
  // The run is to begin again with ranks that are processes, unless it is being stopped already.
  [[noreturn]] void begin_again();
  [[noreturn]] void leave();
  // Ends the run for this reason, which the supervisor reports.
  [[noreturn]] void fail(const Error& error);

  // In the supervisor.
  struct EndOfJob {  // by MPI_Abort and the like
    int status;
    std::string text;
  };
  // Waits until all workers have ended; calls on_progress about every 0.2 s. If one fails or
  // refuses what a rank does, ends the others; the Error says why, or which worker ended without a
  // reason. If it has printed the reason, this process ends with its status. So it does on a
  // further host, when the first one has all that its workers did.
  Result<std::optional<EndOfJob>> supervise(
      const std::function<void(const RunProgress&)>& on_progress);
  // After supervise(): whether a worker has asked for that. All workers have then ended, and
  // nothing of this object is of use.
  bool begins_again() const { return shared_->begins_again(); }
  // The one that processes of ranks have used; none: there was no such process.
  std::optional<loader::BinaryInterface> used_interface() const;
  // Adds what the workers' ranks did to the world. `recording`: null if nothing is recorded.
  Result<> take_in(Recording* recording);

  const WorkerTotals& totals() const { return totals_; }
  int workers() const { return static_cast<int>(states_.size()); }
  uint64_t rounds() const { return memory_->state().round; }
  uint64_t frames() const;
  // Until the ranks of all workers of this host were loaded, s.
  double startup_seconds() const;
  // When the first worker of this host began to simulate, s of the monotonic clock; that may be
  // before the supervisor continues. Nothing if none did.
  std::optional<double> begin_seconds() const;
  // How long the worker waited for others, s.
  double waited_seconds(int worker) const;
  const pdes::SharedState::OfWorker& counts(int worker) const {
    return memory_->state().workers[worker];
  }

 private:
  ParallelRun(mpi::World& world, std::vector<int> worker_of);
  Result<> share(const Scenario& scenario, const std::vector<Doorbell*>& bells);
  Result<> start_workers();
  void become_worker(int number, pid_t supervisor);
  void connect_file_systems();
  void take(std::span<const char> frame);
  Result<> take_in_records(Recording& recording);
  [[noreturn]] void refuse(const std::string& why, const std::string& hint);
  bool decide_to_fail(const Error& error);
  RunProgress progress() const;
  std::optional<pid_t> await_worker(int* status) const;
  Result<> await_ends(const std::function<void(const RunProgress&)>& on_progress);
  Result<> await_hosts(const std::function<void(const RunProgress&)>& on_progress);
  [[noreturn]] void end_further_host(const Result<>& ended);
  Result<> check_end(pid_t process, int status);
  void end_workers();
  void forget(int worker);
  std::string name_of(int worker) const;

  mpi::World& world_;
  std::vector<int> worker_of_;  // by rank
  std::unique_ptr<pdes::SharedMemory> memory_;
  SharedRun* shared_ = nullptr;
  int number_ = -1;     // of this worker; -1: the supervisor
  int64_t left_ = 0;    // its ranks that have not ended
  sigset_t signals_{};  // that the supervisor blocked before it had workers
  std::vector<std::FILE*> records_;
  std::vector<std::FILE*> states_;
  std::unique_ptr<RunHosts> hosts_;  // null: all workers are on this host
  std::unique_ptr<pdes::Worker> worker_;
  std::unique_ptr<mpi::WorkerMessages> messages_;
  std::unique_ptr<pdes::Synchronizer> protocol_;
  std::unique_ptr<WorkerRecorder> recorder_;
  WorkerTotals totals_;
  double seconds_per_tick_ = 0;  // of read_time_stamp(); known when all workers have ended
};

// Ends all workers of a supervisor and the processes of their ranks at once; may be called by a
// signal handler.
void end_all_workers();

}  // namespace sesame::sim
