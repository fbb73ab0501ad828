// Ranks that are processes of their own (core/remote), for Simulation. Each simulator program has
// them or not: link process_ranks.cc or no_process_ranks.cc.
//
// Use: make_process_ranks(), start() once, run() as the body of each rank's fiber, finish() when
// all fibers have ended or the job has. add() starts ranks that are spawned meanwhile. Where
// several workers simulate, make_bells() before they are forked; each then starts the ranks that it
// has.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/doorbell.h"
#include "core/base/error.h"
#include "core/loader/loader.h"
#include "core/mpi/messages/world.h"

namespace sesame::sim {

struct ProcessRank {
  int rank;  // not of one that is added
  const loader::ProcessProgram& program;
  const loader::LaunchArguments& launch;
  std::string own_variables;  // "NAME=value" with a zero byte at its end, …
  int node = 0;
  int cores = 1;        // of the target that the rank has
  double slowdown = 1;  // of its computation
};

struct ProcessStart {
  // Called with the name of a process's binary interface when it connects.
  void (*connected)(const std::string& interface);
  mpi::World& world;
  int64_t epoch_ns;      // what calendar clocks show at simulated time 0
  uint64_t eager_limit;  // of any pair of ranks: a larger send may wait for its receive; bytes
  // Of a worker:
  int worker = 0;
  int workers = 1;                      // that share the host's processors
  std::atomic<pid_t>* group = nullptr;  // where the supervisor finds its ranks' process group
};

class ProcessRanks {
 public:
  virtual ~ProcessRanks() = default;
  // What each worker will wait at, by worker, in memory that all share. Owned by this object.
  virtual Result<std::vector<Doorbell*>> make_bells(int workers) = 0;
  virtual Result<> start(const ProcessStart& start, std::span<const ProcessRank> ranks) = 0;
  // Starts processes of further ranks, whose numbers follow. After an Error call remove_from().
  virtual Result<> add(std::span<const ProcessRank> ranks) = 0;
  // Ends the processes of ranks that were added, from this number on.
  virtual void remove_from(int rank) = 0;
  // Serves the rank until its program has ended; its exit status. Ends the job if a signal ended
  // it.
  virtual int run(mpi::Rank& rank) = 0;
  // Ends what is left of the processes, and passes on the rest of their output.
  virtual void finish() = 0;
};

// Null where ranks are fibers.
std::unique_ptr<ProcessRanks> make_process_ranks();
// Ends all processes of ranks at once; may be called by a signal handler.
void end_process_ranks();

}  // namespace sesame::sim
