// Entry points that are the same in every binary interface and that the generator does not make:
// arithmetic on addresses, and a hint to profiling tools, of which there is none.
#include "core/abi/narrow.h"

namespace sesame::abi {

SESAME_ENTRY Aint MPI_Aint_add(Aint base, Aint displacement) { return base + displacement; }
SESAME_PROFILE(MPI_Aint_add)
SESAME_ENTRY Aint MPI_Aint_diff(Aint address, Aint base) { return address - base; }
SESAME_PROFILE(MPI_Aint_diff)

SESAME_ENTRY int MPI_Pcontrol(int, ...) { return MPI_SUCCESS; }
SESAME_PROFILE(MPI_Pcontrol)

}  // namespace sesame::abi
