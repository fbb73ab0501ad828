// Computation times recorded in an earlier run, for --compute recorded:DATASET: for every rank
// the time of the host machine that it computed before each of its calls, polls left out, in
// order. Python writes the file from a data set, the simulator reads it.
//
// The file, little-endian: the 8 bytes "SESCOMP1", the number of ranks (uint64), for each rank
// its number of times (uint64), then all times (int64, picoseconds), rank by rank.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/error.h"

namespace sesame::trace {

using ComputeTimes = std::vector<std::vector<int64_t>>;  // [rank][call]

Result<> write_compute_times(const std::string& path, const ComputeTimes& times);

// Refuses a file that is cut off, too long, or holds a negative time.
Result<ComputeTimes> read_compute_times(const std::string& path);

}  // namespace sesame::trace
