// Waiting for descriptors of the host machine without stopping the other ranks (waiting.cc).
#pragma once

namespace sesame::loader {

// Whether a rank calls, so that simulated time may pass: not in its threads, whose time is the
// host's, and not in processes that it forked.
bool other_ranks_run();

// Before a call that reads from `fd`, with `flags` as of recv(2): returns when the call would not
// wait. Returns at once where the call never waits or no rank is active.
void wait_for_input(int fd, int flags = 0);

}  // namespace sesame::loader
