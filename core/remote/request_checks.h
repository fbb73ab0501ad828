// Checks of what a rank's process has written to the memory that it shares with the simulator. The
// program may have written to it by a stray pointer, so nothing in it is used unchecked: neither
// the parts of a slot (here) nor the values of a request (Reader, and those who read it).
//
// What is damaged ends the job with a message about the rank whose call is served, and the status
// of a rank that a segmentation violation has ended. On the fibers of ranks.
#pragma once

#include "core/remote/wire.h"

namespace sesame::remote {

struct Channel;

// Ends the job; `what` completes "has damaged the memory of its calls: …".
[[noreturn, gnu::cold]] void fail_damaged(const char* what);

// The longest time in a request, in ps: a clock, a computation and a sleep of one request can be
// added. Chosen: 26 days, a quarter of what SimTime has. Processes ask for shorter
// sleeps (program/clocks.cc).
inline constexpr int64_t kMostPs = int64_t{1} << 61;
inline bool is_time(int64_t ps) { return ps >= 0 && ps <= kMostPs; }

inline void expect(bool holds, const char* what) {
  if (!holds) [[unlikely]]
    fail_damaged(what);
}

// The header of the request in the slot: its length fits, and its numbers exist.
Header checked_header(const Slot& slot);
// The same for one of Slot::deferred that `left` bytes follow, of which the header is a part.
Header checked_deferred_header(const char* at, size_t left);

}  // namespace sesame::remote
