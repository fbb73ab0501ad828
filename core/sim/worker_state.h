// What the ranks of a worker of a parallel simulation have done, as CBOR from which the supervisor
// continues as if it had simulated them: clocks, totals of calls and channels, measured
// computation, what blocked ranks wait for.
//
// Use: worker_state() in each worker when its ranks have stopped; take_in_state() in the
// supervisor, once for each worker.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/mpi/messages/measured_compute.h"
#include "core/mpi/messages/world.h"
#include "core/mpi/rma/window.h"
#include "core/sim/deadlock.h"
#include "core/sim/host_use.h"
#include "core/sim/storage_result.h"
#include "core/sim/worker_recorder.h"

namespace sesame::sim {

// What the supervisor's World has no place for; of all workers together.
struct WorkerTotals {
  HostUse host;
  mpi::ComputeSpread compute;  // of measured computation
  uint64_t switches = 0;
  std::set<std::string> libraries;   // libraries_opened_for_all_ranks()
  std::vector<BlockedRank> blocked;  // in the order of the workers
  std::vector<mpi::WaitingClaim> claims;
  std::vector<nlohmann::json> storage_table;
  StorageTotals storage;
  std::string storage_failure;       // Mounts::failure(); empty: none
  std::vector<FirstUse> first_uses;  // of files, in the order of the workers
};

// Of the ranks that are here. In a worker. `recorder`: null if nothing is recorded.
std::string worker_state(const mpi::World& world, const WorkerRecorder* recorder);
// Adds a worker's state. In the supervisor.
Result<> take_in_state(const std::string& state, mpi::World& world, WorkerTotals* totals);
// When all are added: sorts the blocked ranks and names the holders of locks that they wait for.
void describe_together(WorkerTotals* totals);

}  // namespace sesame::sim
