// The player: an MPI program that repeats the MPI calls of one rank of a traced run. The simulator
// runs it like any other program and inserts the recorded computation between the calls (scenario,
// compute mode recorded). Errors end the program with a message. All state is in `player`; one
// thread.
#pragma once

#include <stddef.h>

#include "core/player/mpi_functions.h"
#include "core/player/plan.h"

// Defined by the simulator: charges the recorded computation before the next call; returns the
// rank in the job.
extern "C" int sesame_charge_computation();

namespace sesame::player {

struct OpenFile;  // a slot for an open file
struct Access;    // an asynchronous access to a file
OpenFile* make_open_files(uint64_t count);
Access* make_accesses(uint64_t count);
// Memory full of zeros; ends the program when there is none.
void* zeroed(uint64_t count, size_t size);

// The state of this rank; each simulated rank has its own copy of the program.
struct Player {
  Plan plan;
  Buffers buffers;
  mpi::Comm* comms;        // by index in the trace
  mpi::Request* requests;  // by number
  int64_t*
      start_ns;  // begin of each asynchronous access of recorded duration, ns of CLOCK_MONOTONIC
  OpenFile* open_files;
  Access* accesses;
};
extern Player player;

using Play = void (*)(const Operation&);

struct PlayedCall {
  const char* name;
  Play play;
};

// The calls that the player knows, a table for each kind; an entry without name ends a table.
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
