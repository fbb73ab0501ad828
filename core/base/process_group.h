// Ends the processes of a group whose number several processes share.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <atomic>

namespace sesame {

// Sends SIGKILL to all processes of the group, and sets it to 0; 0 is no group. Only in this order:
// a process that ends the group may be killed before it has done so, and another one must still
// find it. That two processes end it at the same time does no harm. For any thread, and for signal
// handlers.
inline void end_process_group(std::atomic<pid_t>& group) {
  pid_t number = group.load();
  if (number <= 0) return;
  kill(-number, SIGKILL);
  group.compare_exchange_strong(number, 0);
}

}  // namespace sesame
