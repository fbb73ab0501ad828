// The ranks of a simulated job. A Rank owns what one process of the program has; a Strand is one
// line of control of it, its program or one of its non-blocking collectives, each a fiber with a
// clock of its own; a Job is the ranks of one MPI_COMM_WORLD. All of it belongs to one thread.
// World owns the ranks and jobs; a rank stays where it is until the run ends.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/mpi/messages/call_profile.h"
#include "core/mpi/messages/compute_meter.h"
#include "core/mpi/messages/interface.h"
#include "core/mpi/messages/matching.h"
#include "core/mpi/messages/measured_compute.h"
#include "core/mpi/messages/request.h"
#include "core/mpi/objects/attached_buffer.h"
#include "core/mpi/objects/comm.h"
#include "core/mpi/objects/datatype.h"
#include "core/mpi/objects/object_tables.h"
#include "core/mpi/objects/op.h"
#include "core/pdes/executive.h"
#include "core/storage/file_call_record.h"

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
// of the cache by the rank's next turn, and is loaded as one before (Executive::set_hot_range).
struct alignas(64) Rank final : ObjectOwner {
  Rank(World& world, Job& job, int id);
  ~Rank();

  Strand main;
  World& world;
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
  std::unique_ptr<storage::FileCallRecord> file_record;  // of the running call, while recording
  File failed_file = nullptr;                            // whose request ended with an error
  std::unique_ptr<AttachedBuffer> attached_buffer;       // for buffered sends

  // "rank 5", or "rank 5 (rank 1 of those spawned as ./worker)".
  std::string name() const override;
  MembersRef intern(std::vector<int> world_ranks) override;
  void describe_environment(InfoObject& info) const override;
  [[noreturn]] void abort_job(const std::string& why) override;
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
