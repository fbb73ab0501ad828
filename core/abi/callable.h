// How functions of the program are called.
#pragma once

#include "core/mpi/objects/callbacks.h"

namespace sesame::abi {

// What to call, at once, in place of this function of the program: the function itself. Another
// header hides this one where the program has a C library of its own (core/remote/program).
inline mpi::Function callable(mpi::Function function) { return function; }

}  // namespace sesame::abi
