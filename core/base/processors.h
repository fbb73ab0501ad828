// The processors that this process may use (sched_setaffinity(2)). Any thread.
#pragma once

namespace sesame {

// At least 1.
int usable_processors();

}  // namespace sesame
