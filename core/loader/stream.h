// The standard streams of a rank: FILEs whose bytes go to the simulator's output hook. Internal.
#pragma once

#include "core/loader/process.h"

namespace sesame::loader {

// The host's own FILEs, by which libstdc++ knows the standard streams. Called before any rank runs.
void remember_host_streams();

void open_streams(RankProcess& process);
void flush_streams(RankProcess& process);
void close_streams(RankProcess& process);

}  // namespace sesame::loader
