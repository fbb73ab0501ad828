// What the process of a rank knows of communicators, so that it need not ask the simulator again.
// Any thread.
//
// Use: facts_of() at the begin of a call; forget_communicators() before each call that may free
// one, since its handle may be used again.
#pragma once

#include <optional>

#include "core/mpi/objects/constants.h"

namespace sesame::remote {

struct CommFacts {
  int size = 0;  // 0: it is an intercommunicator
  int rank = 0;
};

// Asks the simulator at first, whose reply overwrites the slot's message. None: there is no such
// communicator.
std::optional<CommFacts> facts_of(mpi::Comm comm);
void forget_communicators();

}  // namespace sesame::remote
