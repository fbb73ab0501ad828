#include "core/mpi/messages/strand.h"

#include <cstdio>
#include <cstdlib>

#include "core/base/spelling.h"
#include "core/mpi/messages/program_tables.h"

namespace sesame::mpi {

void Strand::Wake::fire() { strand->executive->make_ready(*strand); }

ProgramTables& tables_of_thread() { abort_foreign_thread(); }

Strand& abort_foreign_thread() {
  std::fputs(
      "sesame: a thread that the program started itself called MPI\n"
      "hint: let the program ask MPI_Init_thread for MPI_THREAD_MULTIPLE, or use ",
      stderr);
  std::fputs(spelled("--ranks-as processes\n", "ranks_as=\"processes\"\n"), stderr);
  std::_Exit(2);
}

}  // namespace sesame::mpi
