// The standard streams of a rank: FILEs whose bytes go to the simulator's output hook. Internal.
#pragma once

#include "core/loader/process.h"

namespace sesame::loader {

// Remembers the host's own FILEs, which libstdc++ uses for the standard streams. Call before any
// rank runs.
void remember_host_streams();

void open_streams(RankProcess& process);
void flush_streams(RankProcess& process);
void close_streams(RankProcess& process);

}  // namespace sesame::loader
