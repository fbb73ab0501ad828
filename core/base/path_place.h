// Where a step of the path to a simulated time is (SimTime::pass): plain data.
#pragma once

#include <cstdint>

namespace sesame {

// What takes the time of a step of a path.
enum class PathKind : uint8_t { kComputation, kCall, kMessage, kFile };

// Where a step of a path is: what a rank does, and in or before which call of the program.
struct PathPlace {
  uint32_t rank = 0;
  PathKind kind = PathKind::kComputation;
  uint16_t call = 0;             // mpi::CallId; 0: none
  const void* caller = nullptr;  // the return address of the call; null: unknown
};

}  // namespace sesame
