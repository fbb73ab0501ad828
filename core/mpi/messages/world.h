// The simulated MPI job. World holds what the ranks of one worker share, Rank what one rank owns,
// Strand one line of control of a rank: its program, or one of its non-blocking collectives, each
// a fiber with a clock of its own. All of it belongs to one thread.
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
#include "core/mpi/communicators/ports.h"
#include "core/mpi/io/file_note.h"
#include "core/mpi/io/range_locks.h"
#include "core/mpi/messages/buffered.h"
#include "core/mpi/messages/call_profile.h"
#include "core/mpi/messages/collective_log.h"
#include "core/mpi/messages/compute_meter.h"
#include "core/mpi/messages/in_flight.h"
#include "core/mpi/messages/interface.h"
#include "core/mpi/messages/matching.h"
#include "core/mpi/messages/measured_compute.h"
#include "core/mpi/messages/mismatch.h"
#include "core/mpi/messages/recorder.h"
#include "core/mpi/messages/request.h"
#include "core/mpi/objects/comm.h"
#include "core/mpi/objects/datatype.h"
#include "core/mpi/objects/object_tables.h"
#include "core/mpi/objects/op.h"
#include "core/mpi/objects/shared_list.h"
#include "core/network/network.h"
#include "core/pdes/executive.h"
#include "core/storage/mounts.h"

namespace sesame::mpi {

struct Rank;
struct World;

struct Strand : pdes::Fiber {
  struct Wake : pdes::ConditionalEvent {
    void fire() override;
    Strand* strand = nullptr;
  };

  int outstanding = 0;         // requests still to complete before the strand resumes
  bool awaits_any = false;     // any one completion wakes it, by the event below
  bool awaits_helper = false;  // a helper strand of the rank completes one of these requests
  Rank* rank = nullptr;
  SimTime now;
  SimTime waited;  // simulated time spent blocked, for the rank's table
  Wake wake;
  int idle_polls = 0;                              // in a row, without notable work between them
  SimTime idle_since;                              // when the first of them was made
  uint32_t number = 0;                             // 0: the program; helper strands as they start
  int clock_reads = 0;                             // in a row, without a call of MPI between them
  int call_depth = 0;                              // > 0 while inside an MPI call
  uint16_t call = 0;                               // the CallId of the outermost call
  const void* caller = nullptr;                    // where the program resumes after that call
  const RequestObject* waiting_request = nullptr;  // one of them, to explain a deadlock
  std::function<void()> body;                      // helper strands only
  int saved_errno = 0;
  uint32_t busy_index = 0;  // helper strands only: where World has it while it runs
};

// Messages by size: class 0 holds empty ones, class k those of 2^(k-1) to 2^k - 1 bytes.
struct SizeClass {
  uint64_t count = 0;
  uint64_t bytes = 0;
};

// A message that a matched probe took out of the queue.
struct MessageHolder : Counted {
  QueuedMessage* message = nullptr;
  CommObject* comm = nullptr;
  ~MessageHolder() { release(comm); }
};

// The ranks of one MPI_COMM_WORLD: those that the run starts with, or those of one spawn.
struct Job {
  int number = 0;      // 0: the start
  int first_rank = 0;  // of the run; they follow one another
  int size = 0;
  int parent_port = -1;  // where those who spawned it await it
  SimTime begin;
  MembersRef members;  // made when the first of them initialises MPI
};

// What calls and messages touch comes first, down to `matching`: with thousands of ranks it is out
// of the cache by the rank's next turn, and is loaded as one before (Executive::set_fiber_bytes).
struct alignas(64) Rank {
  Rank(World& world, Job& job, int id);
  ~Rank();

  Strand main;
  World& world;
  const int id;  // among all of the run; spawned ones follow those before
  bool initialized = false;
  bool finalized = false;
  bool ended = false;
  void* process = nullptr;  // the loader's, whose room lies beside this one
  Interface interface;
  double slowdown = 1;          // of its computation, by what shares its node
  SimTime computed;             // target compute time so far
  SimTime io;                   // in file systems so far, inside and outside of MPI calls
  SimTime io_in_calls;          // the part of it inside MPI calls
  SimTime compute_before_call;  // host compute time that led to the current call, unscaled
  // What the current call is about, for its record.
  uint64_t call_bytes = 0;
  int call_peer = -1;
  int call_tag = 0;
  uint32_t call_context = 0;
  int exit_status = 0;
  ObjectTables objects;
  CallProfile profile;
  DatatypeTable datatypes;
  HandleTable<RequestObject, 0xac000000, 0, 16> requests;
  Matching matching;

  Job& job;
  int application = 0;  // which command of the spawn: MPI_APPNUM
  std::string program;  // of a spawned rank: the command
  OpTable ops;
  HandleTable<MessageHolder, 0xa8000000> messages;
  RecordedCompute recorded;
  std::unique_ptr<MeasuredCompute> measured;  // while computation is measured, of some ranks
  uint32_t next_context = 0;
  SimTime answers_free;             // when the interface can answer the next one-sided operation
  uint32_t remote_operations = 0;   // one-sided operations and lock messages so far
  uint32_t helpers = 0;             // helper strands started so far
  Strand* memory_poller = nullptr;  // waits for others to change the rank's memory
  int thread_level = MPI_THREAD_SINGLE;
  std::string error_detail;                         // what the last failed call says about itself
  std::unique_ptr<FileNote> file_note;              // of the running call, while recording
  File failed_file = nullptr;                       // whose request ended with an error
  std::unique_ptr<AttachedBuffer> attached_buffer;  // for buffered sends
};

// "rank 5", or "rank 5 (rank 1 of those spawned as ./worker)": for messages to the user.
std::string name_of_rank(const Rank& rank);

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
  FileLocks file_locks;
  Mismatches mismatches;
  std::set<std::string> host_files;  // that MPI-IO opened and no file system of the machine has
  uint64_t messages = 0;
  uint64_t message_bytes = 0;
  std::array<SizeClass, 65> sizes{};
  int universe_size = 0;  // ranks that the machine takes
  Ports ports;
  uint32_t connections = 0;  // made at ports so far

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

// The strand that runs on this thread. Ends the job with a sentence when a thread that the program
// made itself calls MPI.
[[noreturn, gnu::cold]] Strand& no_strand();
inline Strand& self() {
  pdes::Fiber* fiber = pdes::current_fiber;
  return fiber != nullptr ? *static_cast<Strand*>(fiber) : no_strand();
}
inline Rank& this_rank() { return *self().rank; }

}  // namespace sesame::mpi
