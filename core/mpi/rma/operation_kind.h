// The kinds of one-sided operations.
#pragma once

#include <cstdint>

namespace sesame::mpi {

enum class OperationKind : uint8_t { kPut, kGet, kAccumulate, kFetch, kCompareAndSwap };

// Whether the origin gets data from the target.
inline bool returns_data(OperationKind kind) {
  return kind != OperationKind::kPut && kind != OperationKind::kAccumulate;
}

}  // namespace sesame::mpi
