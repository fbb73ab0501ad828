// Type signatures (MPI 4.1, section 3.3.1): the sequence of basic types of a message. Those of the
// send and of the receive must agree; otherwise the receiver misinterprets the bytes.
// Representations are compared, not names: MPI_LONG and MPI_UNSIGNED_LONG agree, and so do a
// complex number and two real ones. Bytes and packed data agree with everything. The table of
// signatures is global; one thread.
#pragma once

#include <cstdint>
#include <string>

#include "core/mpi/objects/datatype.h"

namespace sesame::mpi {

// The signature of any number of copies of a type. If all elements are of one kind, it is the
// number of this kind, otherwise the number of the type's sequence in the table.
using SignatureId = uint32_t;
// The signature of bytes and packed data. DatatypeObject::signature() gives that of a type.
inline constexpr SignatureId kAnySignature = 0;

// Whether the first `bytes` bytes agree; the two ids differ and neither is kAnySignature.
[[gnu::cold]] bool do_sequences_agree(SignatureId a, SignatureId b, uint64_t bytes);
inline bool do_signatures_agree(SignatureId a, SignatureId b, uint64_t bytes) {
  if (a == b || a == kAnySignature || b == kAnySignature) [[likely]]
    return true;
  return do_sequences_agree(a, b, bytes);
}

// Whether the id means the same in every process: that of types with elements of one kind.
bool is_universal(SignatureId signature);

// For messages to the user: "4-byte integers", "sequences of a 4-byte integer and 2 8-byte
// floating-point numbers".
std::string describe_signature(SignatureId signature);

}  // namespace sesame::mpi
