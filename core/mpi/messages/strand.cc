#include "core/mpi/messages/strand.h"

#include <cstdio>
#include <cstdlib>

namespace sesame::mpi {

void Strand::Wake::fire() { strand->executive->make_ready(*strand); }

Strand& abort_foreign_thread() {
  std::fputs(
      "sesame: a thread that the program started itself called MPI\n"
      "hint: only the thread that started the program may call MPI in a simulation\n",
      stderr);
  std::_Exit(2);
}

}  // namespace sesame::mpi
