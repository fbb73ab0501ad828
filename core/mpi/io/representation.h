// Data representations of files: native and internal (as in memory), external32, and those that the
// program registers with MPI_Register_datarep. Functions return an MPI error class.
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

struct Representation {
  enum class Kind { kNative, kExternal32, kUser };
  std::string name;
  Kind kind = Kind::kNative;
  // The program's functions; a null conversion means that data are as in memory.
  Function read = nullptr;
  Function write = nullptr;
  Function extent = nullptr;
  void* extra_state = nullptr;
  bool large = false;  // its conversions take large counts (MPI_Count)
};

// Those that the program has registered, in the order of their registration.
using RegisteredRepresentations = std::vector<std::unique_ptr<Representation>>;

const Representation& native_representation();
// Finds one that MPI defines (in any case of letters) or one of `registered`. Returns null if there
// is none of that name.
const Representation* find_representation(const RegisteredRepresentations& registered,
                                          std::string_view name);

// Sets *stored to the type as stored in files: basic elements have their size in the file, and
// displacements in bytes do not change (MPI 4.1, 14.5.1: such types are not portable).
int stored_type(const Representation& representation, DatatypeRef type, DatatypeRef* stored);

// Conversion between a typed buffer of `count` copies and packed data of the file. stored_bytes()
// gives the packed size: MPI_ERR_CONVERSION if the program's function makes it negative or longer
// than any buffer. That function may answer otherwise when it is asked again, so the others take
// the size of the packed buffer. decode() converts its first `bytes` bytes, and sets *native_bytes
// to their size in memory.
int stored_bytes(const Representation& representation, const DatatypeObject& type, Count count,
                 Count* bytes);
int encode(const Representation& representation, const void* buffer, Count count,
           const DatatypeObject& type, std::byte* packed, Count packed_bytes);
int decode(const Representation& representation, const std::byte* packed, Count packed_bytes,
           Count bytes, void* buffer, Count count, const DatatypeObject& type, Count* native_bytes);

}  // namespace sesame::mpi
