// The simulated clock of a rank's process, for the functions of the C library that it takes the
// place of. Durations are nanoseconds, simulated.
#pragma once

#include <cstdint>

#include "core/remote/wire.h"

namespace sesame::remote {

// The slot of the calling thread if it may ask for simulated time; null: the C library's functions
// are the right ones.
Slot* simulated();

int64_t calendar_ns(Slot& slot);
// Time since the start of the run.
int64_t run_ns(Slot& slot);
void sleep_ns(Slot& slot, int64_t seconds, int64_t ns);

}  // namespace sesame::remote
