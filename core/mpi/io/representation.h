// How data stand in a file: native and internal as in memory, external32, and what the program
// registers with MPI_Register_datarep.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/mpi/objects/callbacks.h"
#include "core/mpi/objects/constants.h"
#include "core/mpi/objects/datatype.h"

namespace sesame::mpi {

struct Rank;

struct Representation {
  enum class Kind { kNative, kExternal32, kUser };
  std::string name;
  Kind kind = Kind::kNative;
  // Of the program; conversions may be null where the data are as in memory.
  Function read = nullptr;
  Function write = nullptr;
  Function extent = nullptr;
  void* extra_state = nullptr;
  bool large = false;  // its conversions take large counts
};

const Representation& native_representation();
// Null when there is none of that name.
const Representation* find_representation(const Rank& rank, std::string_view name);

// The type as it is in files: equal types but for basic elements whose size is another there.
// Byte displacements stay as they are (MPI 4.1, 14.5.1: such types are not portable).
int stored_type(const Representation& representation, DatatypeRef type, DatatypeRef* stored);

// A typed buffer, converted and packed: bytes for `count` copies, and both directions. decode()
// takes the first `bytes` packed bytes and gives how many bytes of the program they are.
int stored_bytes(const Representation& representation, const DatatypeObject& type, Count count,
                 Count* bytes);
int encode(const Representation& representation, const void* buffer, Count count,
           const DatatypeObject& type, std::byte* packed);
int decode(const Representation& representation, const std::byte* packed, Count bytes, void* buffer,
           Count count, const DatatypeObject& type, Count* native_bytes);

}  // namespace sesame::mpi
