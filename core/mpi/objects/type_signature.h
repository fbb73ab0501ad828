// Type signatures (MPI 4.1, section 3.3.1): the sequence of basic types that a message consists of.
// What is sent and what is received must agree in it; where they do not, the receiver takes the
// bytes for something else. Compared is how elements are represented, not which name they have:
// MPI_LONG and MPI_UNSIGNED_LONG agree, so do a complex number and two real ones. Bytes and packed
// data agree with everything.
#pragma once

#include <cstdint>
#include <string>

#include "core/mpi/objects/datatype.h"

namespace sesame::mpi {

// The signature of any number of copies of a type. Types of one kind of element have that element's
// number, others one that stands for their sequence in a table of the process.
using SignatureId = uint32_t;
// DatatypeObject::signature() gives it.
inline constexpr SignatureId kAnySignature = 0;

// Whether the first `bytes` bytes agree; the two ids differ and neither is kAnySignature.
[[gnu::cold]] bool do_sequences_agree(SignatureId a, SignatureId b, uint64_t bytes);
inline bool do_signatures_agree(SignatureId a, SignatureId b, uint64_t bytes) {
  if (a == b || a == kAnySignature || b == kAnySignature) [[likely]]
    return true;
  return do_sequences_agree(a, b, bytes);
}

// For people: "4-byte integers", "sequences of a 4-byte integer and 2 8-byte floating-point
// numbers".
std::string describe_signature(SignatureId signature);

}  // namespace sesame::mpi
