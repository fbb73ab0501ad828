// The ranks of a simulated job. A Rank is one process of the program and owns its MPI objects, its
// queues of messages (matching.h) and its network interface (interface.h). A Job is the ranks of
// one MPI_COMM_WORLD.
//
// Use: this_rank() is the rank whose strand runs now (strand.h). Include world.h only to use what
// all ranks share (Rank::world).
//
// World owns ranks and jobs; they do not move or end before the run does. Times are simulated
// unless a comment says host time. All of it belongs to one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/mpi/messages/call_profile.h"
#include "core/mpi/messages/compute_meter.h"
#include "core/mpi/messages/computing_times.h"
#include "core/mpi/messages/interface.h"
#include "core/mpi/messages/matching.h"
#include "core/mpi/messages/measured_compute.h"
#include "core/mpi/messages/program_tables.h"
#include "core/mpi/messages/request.h"
#include "core/mpi/messages/strand.h"
#include "core/mpi/objects/attached_buffer.h"
#include "core/mpi/objects/comm.h"
#include "core/mpi/objects/datatype.h"
#include "core/mpi/objects/datatype_table.h"
#include "core/mpi/objects/object_tables.h"
#include "core/mpi/objects/op.h"
#include "core/storage/file_call_record.h"

namespace sesame::mpi {

struct World;

// A message that a matched probe removed from the queue: what an MPI_Message stands for. Owns the
// reference to the communicator, not the message.
struct MatchedMessage : Counted {
  QueuedMessage* message = nullptr;
  CommObject* comm = nullptr;
  ~MatchedMessage() { release(comm); }
};

// The ranks of one MPI_COMM_WORLD: those that the run starts with, or those of one spawn.
struct Job {
  int number = 0;      // 0: the start
  int first_rank = 0;  // its ranks are consecutive among those of the run
  int size = 0;
  int parent_port = -1;  // of a spawn: where the parents accept its connection
  SimTime begin;
  MembersRef members;  // made when the first of them initialises MPI
};

// Members that calls and messages use are together, from ObjectTables::world to `matching`. With
// thousands of ranks they have left the cache by the rank's next turn; the executive loads them as
// one block shortly before (Executive::set_hot_range).
struct alignas(64) Rank final : ObjectOwner {
  Rank(World& world, Job& job, int id);
  ~Rank();

  Strand main;
  World& world;
  bool initialized = false;
  bool finalized = false;
  void* process = nullptr;  // the loader::RankProcess of this rank
  Interface interface;
  double slowdown = 1;  // how many times longer it computes than alone on its node
  SimTime computed;     // target compute time so far
  std::unique_ptr<ComputingTimes> computing;  // if a card depends on it
  SimTime compute_before_call;                // host compute time before the current call, unscaled
  // Arguments of the current call, for its record.
  uint64_t call_bytes = 0;
  int call_peer = -1;
  int call_tag = 0;
  uint32_t call_context = 0;
  ProgramTables tables;
  CallProfile profile;
  DatatypeTable datatypes;
  HandleTable<RequestObject, 0xac000000, 0, 16> requests;
  Matching matching;

  Job& job;
  SimTime io;           // time in file systems so far, inside and outside of MPI calls
  SimTime io_in_calls;  // of `io`: inside MPI calls
  int exit_status = 0;
  int application = 0;                   // which command of the spawn: MPI_APPNUM
  std::string program;                   // of a spawned rank: the command
  const void* loaded_program = nullptr;  // the same for all ranks of one program file
  OpTable ops;
  HandleTable<MatchedMessage, 0xa8000000> messages;
  RecordedCompute recorded;
  std::unique_ptr<MeasuredCompute> measured;  // while computation is measured, of some ranks
  uint32_t next_context = 0;
  SimTime answers_free;             // when the rank can answer the next one-sided operation
  uint32_t answers = 0;             // to one-sided operations so far
  uint32_t remote_operations = 0;   // one-sided operations and lock messages so far
  uint32_t helpers = 0;             // helper strands started so far
  Strand* memory_poller = nullptr;  // waits for other ranks to change the rank's memory
  int thread_level = MPI_THREAD_SINGLE;
  std::unique_ptr<storage::FileCallRecord> file_record;  // of the running call, while recording
  File failed_file = nullptr;  // file of the last request that ended with an error
  std::unique_ptr<AttachedBuffer> attached_buffer;  // for buffered sends

  // "rank 5" or, of a spawned rank, "rank 5 (rank 1 of those spawned as ./worker)".
  std::string name() const override;
  MembersRef intern(std::vector<int> world_ranks) override;
  void describe_environment(InfoObject& info) const override;
  [[noreturn]] void abort_job(const std::string& why) override;
};

// The rank whose strand runs.
inline Rank& this_rank() { return *self().rank; }

}  // namespace sesame::mpi
