// What the ranks of one simulated run share: the executive that runs them, the network, messages in
// flight, and totals; also the state of modules above (ports, file locks), which these modules make
// at the first use.
//
// Use: make a World for the network and its ranks, set `hooks`, and give each rank's main strand a
// stack and an entry function (core/sim, or SimulatedJob for tests); then executive.run(). Code of
// a rank reaches it by Rank::world and mostly needs only rank.h. Owns ranks, jobs and helper
// strands and does not move. Sizes are bytes, times simulated. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/reserved_block.h"
#include "core/machine/collective_rules.h"
#include "core/mpi/messages/call_profile.h"
#include "core/mpi/messages/compute_meter.h"
#include "core/mpi/messages/interface.h"
#include "core/mpi/messages/rank.h"
#include "core/mpi/messages/recorder.h"
#include "core/mpi/messages/remote_ranks.h"
#include "core/mpi/objects/shared_list.h"
#include "core/mpi/objects/type_signature.h"
#include "core/network/network.h"
#include "core/pdes/executive.h"
#include "core/storage/file_call_record.h"
#include "core/storage/file_system.h"
#include "core/storage/mounts.h"
#include "core/storage/replicas.h"

namespace sesame::mpi {

class CollectiveLog;
class InFlight;
class Ports;
class RemoteWindows;
class SwitchOperations;
class SharedFiles;

// Totals of messages of similar size: class 0 is empty messages, class k those of 2^(k-1) to 2^k -
// 1 bytes.
struct SizeClass {
  uint64_t count = 0;
  uint64_t bytes = 0;
};

// A command of MPI_Comm_spawn.
struct ProgramStart {
  std::string command;
  std::vector<std::string> arguments;
  std::vector<int> allowed;  // acceptable numbers of ranks, descending; maxprocs without `soft`
  std::string directory;     // to start in; empty: that of the run
  std::string path;          // directories to look for the command in, separated by ':'
  std::string host;          // names of nodes, separated by ','; empty: any
  int started = 0;           // result: how many ranks were started
};

// Functions of the simulation above this module; set by core/sim.
struct WorldHooks {
  // Ends the whole job from inside a rank, with a text for the user.
  void (*abort_job)(int status, const std::string& why) = nullptr;
  const char* (*node_name)(int node) = nullptr;
  // Starts the ranks of a new job for the running rank and sets ProgramStart::started. Starts
  // nothing when it returns an Error.
  Result<> (*spawn)(std::vector<ProgramStart>& programs, int parent_port) = nullptr;
  // The address of the variable of this name that the rank's program defines or has a copy of; null
  // if there is none.
  const void* (*program_variable)(const Rank& rank, const char* name) = nullptr;
  // The function of this name in the rank's program or in a library of which it has a copy; null:
  // none.
  const void* (*program_function)(const Rank& rank, const char* name) = nullptr;
  // That which the rank's program and its private libraries use by this name; null: none.
  const void* (*private_variable)(const Rank& rank, const char* name) = nullptr;
  // The working directory of the rank; null: that of this process.
  std::string (*working_directory)(const Rank& rank) = nullptr;
  // The first rank to call MPI asks for MPI_THREAD_MULTIPLE, which only ranks that are processes
  // have. Does not return. Null: it gets less.
  void (*begin_again_as_processes)() = nullptr;
  // Shows the user a warning; null: warnings are dropped.
  void (*warn)(const std::string& text) = nullptr;
};

struct World {
  struct DestroyInPlace {
    void operator()(Rank* rank) const { rank->~Rank(); }
  };

  World(network::Network network, int ranks);
  // Lets messages share what the machine says. To be called before any is sent.
  void share_network(const machine::Machine& machine);
  ~World();

  pdes::Executive executive;
  network::Network network;
  RequestObject sent;  // the request of kSentRequest; always complete
  ComputeMeter meter;
  CallSlots call_slots;
  RemoteRanks* remote = nullptr;  // those of other workers; null: all ranks are here
  std::shared_ptr<RemoteWindows> remote_windows;  // those of other workers (remote_windows.h)
  std::shared_ptr<InFlight> in_flight;            // made at the first message (in_flight.h)
  // Of all communicators, by context and group; outlives the ranks, which own the logs.
  std::map<std::pair<uint32_t, const Members*>, std::weak_ptr<CollectiveLog>> collective_logs;
  SharedLists shared_lists;
  Recorder* recorder = nullptr;               // null while nothing is recorded
  std::unique_ptr<network::Traffic> traffic;  // null: messages of different ranks share nothing
  SharedInterfaces interfaces{recorder, remote};
  ReservedBlock rank_block;  // memory of all ranks, an array by number
  std::deque<Job> jobs;
  std::vector<std::unique_ptr<Rank, DestroyInPlace>> ranks;
  pdes::StackPool helper_stacks;  // for non-blocking collectives
  WorldHooks hooks;
  // Of file systems that nodes share, in a parallel simulation; else null.
  std::unique_ptr<storage::Replicas> replicas;
  std::unique_ptr<storage::Mounts> mounts;      // the machine's file systems, perhaps none
  machine::CollectiveParameters collective_io;  // for file systems that set none
  bool open_mpi_collectives = false;            // algorithms as Open MPI chooses; else MPICH
  machine::CollectiveTables collective_tables;  // those of the machine file, which come first
  std::shared_ptr<SwitchOperations> switch_operations;  // made at the first one (hardware.h)
  std::shared_ptr<SharedFiles> shared_files;            // made by MPI-IO at its first use
  std::set<std::pair<SignatureId, SignatureId>> reported_mismatches;  // see mismatch.h
  std::set<std::string> host_files;  // opened by MPI-IO, on no file system of the machine
  // Uses of simulated files that take no simulated time, and the ranks that may have made them.
  std::map<std::string, std::set<int>> uses_without_time;
  bool has_windows = false;  // a rank here has made memory of one-sided communication
  uint64_t messages = 0;
  uint64_t message_bytes = 0;
  std::array<SizeClass, 65> sizes{};
  int universe_size = 0;         // how many ranks the machine can run (MPI_UNIVERSE_SIZE)
  std::shared_ptr<Ports> ports;  // made when the first one is opened
  uint32_t connections = 0;      // made at ports so far

  int size() const { return static_cast<int>(ranks.size()); }
  // Whether this process simulates the rank.
  bool is_here(int rank) const { return remote == nullptr || remote->is_here(rank); }
  // Does not read `ranks`, which would be a cache miss for each message.
  Matching& matching_of(int rank) { return static_cast<Rank*>(rank_block.data())[rank].matching; }
  // Adds a job with one rank on each of these nodes, whose clocks start at `begin`. Null when the
  // run would have more ranks than it has memory reserved for.
  Job* add_job(const std::vector<int>& nodes, SimTime begin, int parent_port);
  // All ranks of the run so far.
  const MembersRef& all_ranks();
  // The one shared copy of this list of world ranks.
  MembersRef intern(std::vector<int> world_ranks);

  // Starts `body` on a helper strand of the rank, whose clock starts at `now`.
  void start_strand(Rank& rank, SimTime now, std::function<void()> body);

  // Blocks a helper strand whose body has ended until start_strand() reuses it.
  void park(Strand& strand);
  const std::vector<std::unique_ptr<Strand>>& busy_strands() const { return busy_strands_; }

 private:
  Job* add_ranks(int count, SimTime begin);
  void watch_computing(int first);

  MembersRef all_ranks_;
  std::unordered_multimap<uint64_t, std::weak_ptr<const Members>> interned_;
  std::vector<std::unique_ptr<Strand>> busy_strands_;
  std::vector<std::unique_ptr<Strand>> idle_strands_;
};

}  // namespace sesame::mpi
