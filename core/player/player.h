// Plays a rank's part of a traced run: makes the MPI calls that the trace holds. It is an ordinary
// MPI program, which the simulator runs like any other. Computation is not here: the simulator puts
// the recorded times between the calls (scenario, compute mode recorded).
#pragma once

#include <stddef.h>

#include "core/player/mpi_functions.h"
#include "core/player/plan.h"

// The simulator's: the recorded computation of this moment passes; the caller's rank.
extern "C" int sesame_charge_computation();

namespace sesame::player {

struct Opening;  // of a file
struct Access;   // to a file, in the background
Opening* make_openings(uint64_t count);
Access* make_accesses(uint64_t count);
// Memory full of zeros; ends the program when there is none.
void* zeroed(uint64_t count, size_t size);

// The state of this rank; each simulated rank has its own copy of the program.
struct Player {
  Plan plan;
  Buffers buffers;
  mpi::Comm* comms;        // by index in the trace
  mpi::Request* requests;  // by number
  int64_t* begun;          // when a timed access to a file began that goes on in the background, ns
  Opening* openings;
  Access* accesses;
};
extern Player player;

using Play = void (*)(const Operation&);

struct PlayedCall {
  const char* name;
  Play play;
};

// What can be played, one table for each kind of call; an entry without name ends a table.
extern const PlayedCall kMessageCalls[];
extern const PlayedCall kCollectiveCalls[];
extern const PlayedCall kReductionCalls[];
extern const PlayedCall kCommunicatorCalls[];
extern const PlayedCall kFileCalls[];

inline mpi::Comm comm_of(const Operation& operation) { return player.comms[operation.comm]; }
inline mpi::Request* request_of(const Operation& operation) {
  return &player.requests[operation.number];
}
inline const int64_t* list_of(const Operation& operation) {
  return &player.plan.lists[operation.list];
}

}  // namespace sesame::player
