// The simulated MPI job. World holds what the ranks of one worker share, Rank what one rank owns,
// Strand one line of control of a rank: its program, or one of its non-blocking collectives, each
// a fiber with a clock of its own. All of it belongs to one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/mpi/call_profile.h"
#include "core/mpi/comm.h"
#include "core/mpi/compute_clock.h"
#include "core/mpi/datatype.h"
#include "core/mpi/matching.h"
#include "core/mpi/object_tables.h"
#include "core/mpi/op.h"
#include "core/mpi/request.h"
#include "core/network/network.h"
#include "core/pdes/executive.h"

namespace sesame::mpi {

struct Rank;
struct World;

struct Strand : pdes::Fiber {
  Rank* rank = nullptr;
  SimTime now;
  SimTime waited;                 // simulated time spent blocked, for the rank's table
  int call_depth = 0;             // > 0 while inside an MPI call
  uint16_t call = 0;              // the CallId of the outermost call
  const char* waiting_for = nullptr;           // for the explanation of a deadlock
  const RequestObject* waiting_request = nullptr;
  std::function<void()> body;     // helper strands only
};

struct Rank {
  Rank(World& world, int id);
  ~Rank();

  World& world;
  const int id;
  Strand main;
  ComputeClock compute;
  Matching matching;
  SimTime interface_free;         // when the rank's network interface can inject again

  DatatypeTable datatypes;
  OpTable ops;
  ObjectTables objects;
  HandleTable<RequestObject, 0xac000000> requests;
  CallProfile profile;

  bool initialized = false;
  bool finalized = false;
  bool ended = false;
  int exit_status = 0;
  uint32_t next_context = 0;
  int thread_level = MPI_THREAD_SINGLE;
  std::string error_detail;       // what the last failed call says about itself
  struct AttachedBuffer* attached_buffer = nullptr;
};

// What the simulation is told and gives back at the seams; set by core/sim.
struct WorldHooks {
  // Ends the whole job from inside a rank, with a text for the user.
  void (*abort_job)(int status, const std::string& why) = nullptr;
  const char* (*node_name)(int node) = nullptr;
};

struct World {
  World(network::Network network, int ranks, size_t stack_bytes);
  ~World();

  pdes::Executive executive;
  network::Network network;
  std::vector<std::unique_ptr<Rank>> ranks;
  pdes::StackPool helper_stacks;  // for non-blocking collectives
  WorldHooks hooks;
  MessageRecorder* recorder = nullptr;
  uint64_t messages = 0;
  uint64_t message_bytes = 0;

  int size() const { return static_cast<int>(ranks.size()); }
  // The one shared copy of this list of world ranks.
  MembersRef intern(std::vector<int> world_ranks);

  // Starts `body` on a strand of its own beside the running one, at the same simulated time.
  void start_strand(Rank& rank, SimTime now, std::function<void()> body);

 private:
  std::unordered_multimap<uint64_t, std::weak_ptr<const Members>> interned_;
  std::vector<std::unique_ptr<Strand>> idle_strands_;
};

// The strand that runs on this thread. Ends the job with a sentence when a thread that the program
// made itself calls MPI.
Strand& self();
inline Rank& this_rank() { return *self().rank; }

}  // namespace sesame::mpi
