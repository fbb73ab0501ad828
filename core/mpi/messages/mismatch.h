// Reports of ranks that disagree about a message or a collective: about the type of the data
// (warnings), or about the length (the detail of an error). The simulator sees both sides, so that
// it can name both. World::reported_mismatches keeps what was reported, so that each pair of types
// is reported once and at most eight pairs in all. One thread.
#pragma once

#include <string>

#include "core/mpi/messages/request.h"
#include "core/mpi/objects/type_signature.h"

namespace sesame::mpi {

struct World;

// Warns that a message of another type than the receive's was received. The receive's status must
// be set. `sent`: the type that was sent.
[[gnu::cold]] void warn_of_types(World& world, const RequestObject& receive, SignatureId sent);
// Calls warn_of_types() if the types of the first `bytes` bytes differ.
inline void check_types(World& world, const RequestObject& receive, SignatureId sent, Count bytes) {
  if (!do_signatures_agree(sent, receive.type->signature(), static_cast<uint64_t>(bytes)))
      [[unlikely]]
    warn_of_types(world, receive, sent);
}

// Warns that a rank passes another type to a collective than `first`, the first rank that entered
// it. `call` is the CallId.
[[gnu::cold]] void warn_of_types_in_collective(const CommObject& comm, uint16_t call, int first,
                                               SignatureId first_type, SignatureId type);

// The name of a group's member in the run ("rank 5"), whatever its rank in the group.
std::string name_of_member(const Members& group, int rank);

// Sets the detail of the receiver's truncation error: the message of `bytes` bytes is longer than
// the receive.
[[gnu::cold]] void explain_truncation(const RequestObject& receive, uint64_t bytes);

}  // namespace sesame::mpi
