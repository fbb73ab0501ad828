// What the generated entry points of the MPICH interface need. Handles, constants and statuses are
// ours, so there is nothing to translate.
#pragma once

#include "core/abi/narrow.h"

namespace sesame::abi {

// The handle in a variable of the program, 0 (no object) if there is no variable.
template <typename Handle>
Handle object_at(const Handle* handle) {
  return handle == nullptr ? Handle{} : *handle;
}

}  // namespace sesame::abi
