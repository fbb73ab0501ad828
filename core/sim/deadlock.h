// Explains a deadlock: which rank waits for which others, in which call.
#pragma once

#include <string>

#include "core/mpi/messages/world.h"

namespace sesame::sim {

// A few lines for the user. REQUIRES: some rank has not ended and none can run.
std::string explain_deadlock(const mpi::World& world);

}  // namespace sesame::sim
