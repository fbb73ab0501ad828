// Waiting for descriptors of the host machine without stopping the other ranks (sockets.cc).
#pragma once

#include <poll.h>

namespace sesame::loader {

// poll(2) without a time limit, for the active rank.
int wait_for_descriptors(pollfd* descriptors, nfds_t count);

// Before a call that reads from `fd`: returns when the call would not wait. Returns at once where
// the call never waits or no rank is active.
void wait_for_input(int fd);

}  // namespace sesame::loader
