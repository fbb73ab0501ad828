// The quantities that users write with units: durations, sizes and bandwidths.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/base/sim_time.h"

namespace sesame {

// Parse what a user writes in a machine file or on the command line, with its unit; a size without
// a unit is in bytes. The Error for text that does not fit names the accepted units.
Result<SimTime> parse_duration(std::string_view text);  // "1.5 us", "0s"; s ms us ns ps
Result<uint64_t> parse_size(std::string_view text);     // "64 KiB", "1MB", "0 B", "512"
Result<double> parse_bandwidth(std::string_view text);  // bytes per second: "28 MB/s", "100 Gbit/s"

// For messages: three significant digits with the fitting unit ("1.25 us", "64 KiB").
std::string format_duration(SimTime duration);
std::string format_size(uint64_t bytes);

}  // namespace sesame
