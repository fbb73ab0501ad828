// Making communicator objects once their members and contexts are known.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/mpi/objects/comm.h"
#include "core/mpi/objects/constants.h"

namespace sesame::mpi {

class Transfer;
struct Rank;

// How many contexts a new communicator takes: an inter-communicator's local one needs its own.
inline constexpr uint32_t kIntraContexts = 2;
inline constexpr uint32_t kInterContexts = 4;

// A new communicator with the parent's error handler and no name, attributes or topology. The
// caller's rank must be among `local`. The table of the rank owns it; its handle is set.
CommObject* add_intra(Rank& rank, const CommObject* parent, MembersRef local, uint32_t context);
CommObject* add_inter(Rank& rank, const CommObject* parent, MembersRef local, MembersRef remote,
                      uint32_t context);
// Sets both context numbers of a communicator whose agreement comes later.
void set_context(CommObject& comm, uint32_t context);
// Takes an object out of the table again: the caller's handle is no longer good.
void discard(Rank& rank, CommObject* comm);

// Adds these hints to the communicator's; null for none. Hints that no MPI knows are dropped, as
// MPICH does.
void take_hints(CommObject& comm, const InfoObject* info);

// Agrees with all ranks of the transfer's communicator (both groups of an inter-communicator).
// `concurrent` in a non-blocking call.
uint32_t agree_with_all(Rank& rank, Transfer& transfer, uint32_t contexts, bool concurrent = false);

// MPI_Comm_split of an intra-communicator: *newcomm is null for color MPI_UNDEFINED.
int split_intra(Transfer& transfer, int color, int key, CommObject** newcomm);

// The tag of messages in collectives over some of the ranks of a communicator, whose sequence
// numbers do not advance together: they have a space of their own beyond those.
int subset_tag(int tag);

}  // namespace sesame::mpi
