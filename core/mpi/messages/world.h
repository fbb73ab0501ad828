// What the ranks of one simulated run share: the executive that runs them, the network, messages in
// flight, and the services of modules above, which make their part when it is first needed. One for
// each worker; belongs to one thread.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/error.h"
#include "core/base/reserved_block.h"
#include "core/mpi/messages/collective_log.h"
#include "core/mpi/messages/compute_meter.h"
#include "core/mpi/messages/in_flight.h"
#include "core/mpi/messages/mismatch.h"
#include "core/mpi/messages/rank.h"
#include "core/mpi/messages/recorder.h"
#include "core/mpi/objects/shared_list.h"
#include "core/network/network.h"
#include "core/pdes/executive.h"
#include "core/storage/file_call_record.h"
#include "core/storage/mounts.h"

namespace sesame::mpi {

class Ports;
struct FileLocks;

// Messages by size: class 0 holds empty ones, class k those of 2^(k-1) to 2^k - 1 bytes.
struct SizeClass {
  uint64_t count = 0;
  uint64_t bytes = 0;
};

// A command of MPI_Comm_spawn.
struct ProgramStart {
  std::string command;
  std::vector<std::string> arguments;
  std::vector<int> allowed;  // numbers of ranks that will do, descending; the first one is maxprocs
  std::string directory;     // to start in; empty: that of the run
  std::string path;          // directories to look for the command in, separated by ':'
  std::string host;          // names of nodes, separated by ','; empty: any
  int started = 0;           // how many ranks have been started
};

// What the simulation is told and gives back at the seams; set by core/sim.
struct WorldHooks {
  // Ends the whole job from inside a rank, with a text for the user.
  void (*abort_job)(int status, const std::string& why) = nullptr;
  const char* (*node_name)(int node) = nullptr;
  // Starts the ranks of a new job as the running rank asks; nothing is started after an Error.
  Result<> (*spawn)(std::vector<ProgramStart>& programs, int parent_port) = nullptr;
  // Reports something that does not end the job; null: it is not reported.
  void (*warn)(const std::string& text) = nullptr;
};

struct World {
  struct DestroyInPlace {
    void operator()(Rank* rank) const { rank->~Rank(); }
  };

  World(network::Network network, int ranks);
  ~World();

  pdes::Executive executive;
  network::Network network;
  RequestObject sent;  // what kSentRequest means; always complete
  ComputeMeter meter;
  InFlight in_flight;
  CollectiveLogs collective_logs;  // outlives the ranks' communicators
  Gatherings gatherings;
  Interface* unsettled = nullptr;  // of the running rank, to be settled when it yields
  ReservedBlock rank_block;        // room for all, by number
  std::deque<Job> jobs;
  std::vector<std::unique_ptr<Rank, DestroyInPlace>> ranks;
  pdes::StackPool helper_stacks;  // for non-blocking collectives
  WorldHooks hooks;
  Recorder* recorder = nullptr;
  std::unique_ptr<storage::Mounts> mounts;      // the machine's file systems, perhaps none
  machine::CollectiveParameters collective_io;  // where no file system says otherwise
  std::shared_ptr<FileLocks> file_locks;        // made by MPI-IO at its first use
  Mismatches mismatches;
  std::set<std::string> host_files;  // that MPI-IO opened and no file system of the machine has
  uint64_t messages = 0;
  uint64_t message_bytes = 0;
  std::array<SizeClass, 65> sizes{};
  int universe_size = 0;         // ranks that the machine takes
  std::shared_ptr<Ports> ports;  // made when the first one is opened
  uint32_t connections = 0;      // made at ports so far

  int size() const { return static_cast<int>(ranks.size()); }
  // Without a look at the list of ranks: every message needs its receiver's.
  Matching& matching_of(int rank) { return static_cast<Rank*>(rank_block.data())[rank].matching; }
  // A job of ranks on these nodes, which begin at this time. Null if there is no room for so many.
  Job* add_job(const std::vector<int>& nodes, SimTime begin, int parent_port);
  // All ranks of the run so far.
  const MembersRef& everyone();
  // The one shared copy of this list of world ranks.
  MembersRef intern(std::vector<int> world_ranks);

  // Starts `body` on a strand of its own beside the running one, at the same simulated time.
  void start_strand(Rank& rank, SimTime now, std::function<void()> body);

  // Injects what the running rank has announced: called when it yields.
  void finish_sends();

  // A helper strand whose body has ended waits for the next one.
  void park(Strand& strand);
  const std::vector<std::unique_ptr<Strand>>& busy_strands() const { return busy_strands_; }

 private:
  Job* add_ranks(int count, SimTime begin);

  MembersRef everyone_;
  std::unordered_multimap<uint64_t, std::weak_ptr<const Members>> interned_;
  std::vector<std::unique_ptr<Strand>> busy_strands_;
  std::vector<std::unique_ptr<Strand>> idle_strands_;
};

}  // namespace sesame::mpi
