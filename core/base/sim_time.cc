#include "core/base/sim_time.h"

#include <cstdio>
#include <cstdlib>

namespace sesame {

void SimTime::end_of_time() {
  std::fputs(
      "sesame: the simulated time is beyond its range of 106 days\n"
      "hint: look for a sleep, a computation or a latency of the machine that takes days\n",
      stderr);
  std::_Exit(2);
}

}  // namespace sesame
