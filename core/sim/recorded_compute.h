// The compute times of an earlier run, rank by rank, for a run that repeats them. The file is
// little-endian: the number of ranks (u64), for each rank its number of durations (u64), then all
// durations (i64, picoseconds of host time), rank after rank. A rank has a duration before each of
// its calls, and one after the last call. A duration t before a poll is stored as ~t.
#pragma once

#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/mpi/messages/world.h"

namespace sesame::sim {

// Fails unless the file holds at least `ranks` ranks; those beyond are of ranks that were spawned.
Result<std::vector<std::vector<int64_t>>> read_recorded_compute(const std::string& path, int ranks);

// Writes what the ranks' MeasuredCompute kept, for a later run.
Result<> write_recorded_compute(const mpi::World& world, const std::string& path);

}  // namespace sesame::sim
