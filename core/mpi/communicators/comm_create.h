// Making communicator objects: agreeing on a context, then adding the object to the rank's table.
//
// Use: agree_with_all() on all ranks of the parent, then add_intra() or add_inter() on the members.
// A new communicator gets the parent's error handler (null: none), but no name, attributes or
// topology. Functions that return int return MPI error classes.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/mpi/objects/comm.h"
#include "core/mpi/objects/constants.h"

namespace sesame::mpi {

class Transfer;
struct Rank;

// How many contexts a new communicator uses. An inter-communicator also has a local communicator.
inline constexpr uint32_t kIntraContexts = 2;
inline constexpr uint32_t kInterContexts = 4;

// Add a new communicator to the table of the rank, which owns it, and set its handle. The rank must
// be among `local`. `context` is the first of its contexts.
CommObject* add_intra(Rank& rank, const CommObject* parent, MembersRef local, uint32_t context);
CommObject* add_inter(Rank& rank, const CommObject* parent, MembersRef local, MembersRef remote,
                      uint32_t context);
// Sets the contexts of a communicator (and its local one) that was made before the agreement.
void set_context(CommObject& comm, uint32_t context);
// Removes a communicator from the table; its handle becomes invalid.
void discard(Rank& rank, CommObject* comm);

// Adds hints (null: none) to the communicator's. Unknown hints are ignored, as in MPICH.
void add_hints(CommObject& comm, const InfoObject* info);

// Agrees on `contexts` new contexts with all ranks of the transfer's communicator (both groups of
// an inter-communicator) and returns the first. `concurrent`: in a non-blocking call.
uint32_t agree_with_all(Rank& rank, Transfer& transfer, uint32_t contexts, bool concurrent = false);

// MPI_Comm_split of an intra-communicator: *newcomm is null for color MPI_UNDEFINED.
int split_intra(Transfer& transfer, int color, int key, CommObject** newcomm);

// The tag of messages in collectives over some of a communicator's ranks, for the tag of the call.
// Such collectives have no sequence number; their tags differ from all sequence numbers.
int subset_tag(int tag);

}  // namespace sesame::mpi
