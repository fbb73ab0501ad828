// A simulation by several worker processes (docs/models/parallel.md). The process that the command
// started becomes the supervisor: it loads no rank, waits for the workers, which it forked, takes
// in what their ranks did, and writes the result as if it had simulated them all.
//
// Use: check_workers() first, so that what is not simulated in parallel is refused before anything
// runs. fork() returns in every process; is_supervisor() tells them apart. A worker calls join(),
// runs its ranks, and ends with leave(). The supervisor calls supervise(), then take_in(). One
// thread. Nothing has a name in a file system; a worker ends when its supervisor does.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/machine/machine.h"
#include "core/mpi/messages/worker_messages.h"
#include "core/mpi/messages/world.h"
#include "core/pdes/quantum.h"
#include "core/sim/deadlock.h"
#include "core/sim/scenario.h"
#include "core/sim/worker_recorder.h"

namespace sesame::sim {

class Recording;

// Whether the scenario can be simulated by scenario.workers workers, with the reason if not.
Result<> check_workers(const Scenario& scenario, const machine::Machine& machine,
                       const mpi::World& world);

class ParallelRun {
 public:
  static Result<std::unique_ptr<ParallelRun>> fork(const Scenario& scenario, mpi::World& world);

  bool is_supervisor() const { return number_ < 0; }
  bool has(int rank) const { return workers_[static_cast<size_t>(rank)] == number_; }
  int workers() const { return static_cast<int>(processes_.size()); }

  // In a worker.
  void join(const Scenario& scenario);
  bool is_stopped() const { return memory_->state().stopped; }
  // The job ends, for the first reason that a worker gives.
  void end_job(int status, const std::string& why);
  [[noreturn]] void leave();

  // In the supervisor.
  struct Verdict {  // of MPI_Abort and the like
    int status;
    std::string text;
  };
  // Waits until all workers have ended. If one fails, ends the others; the Error says which, unless
  // the worker has given its reason: then this process ends with the worker's status.
  Result<std::optional<Verdict>> supervise();
  // Adds what the workers' ranks did to the world. `recording`: null if nothing is recorded.
  Result<> take_in(Recording* recording);

  const std::vector<BlockedRank>& blocked() const { return blocked_; }
  const std::vector<std::string>& libraries() const { return libraries_; }
  uint64_t switches() const { return switches_; }
  int64_t peak_memory_bytes() const { return peak_memory_bytes_; }
  uint64_t rounds() const { return memory_->state().round; }
  uint64_t frames() const;

 private:
  struct Shared;  // in shared memory

  ParallelRun(mpi::World& world, std::vector<int> workers);
  std::string state() const;
  Result<> take_in_state(const std::string& text);
  void end_workers();
  std::string name_of(int worker) const;

  mpi::World& world_;
  std::vector<int> workers_;  // by rank
  std::unique_ptr<pdes::SharedMemory> memory_;
  Shared* shared_ = nullptr;
  int number_ = -1;               // of this worker; -1: the supervisor
  std::vector<pid_t> processes_;  // by worker; 0: it has ended
  std::vector<std::FILE*> records_;
  std::vector<std::FILE*> states_;
  std::unique_ptr<pdes::Worker> worker_;
  std::unique_ptr<mpi::WorkerMessages> messages_;
  std::unique_ptr<pdes::QuantumProtocol> protocol_;
  std::unique_ptr<WorkerRecorder> recorder_;
  std::vector<BlockedRank> blocked_;
  std::vector<std::string> libraries_;
  uint64_t switches_ = 0;
  int64_t peak_memory_bytes_ = 0;
};

}  // namespace sesame::sim
