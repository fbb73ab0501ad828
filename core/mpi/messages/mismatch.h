// What a program's own ranks disagree in: reported where the data are matched, since the results
// that follow are wrong.
#pragma once

#include <set>
#include <string>
#include <utility>

#include "core/mpi/messages/request.h"
#include "core/mpi/objects/type_signature.h"

namespace sesame::mpi {

struct World;

// Disagreements that have been reported, so that each is reported once.
struct Mismatches {
  std::set<std::pair<SignatureId, SignatureId>> types;  // sent, received; or the first rank's
};

// A message of another type than the receive's was received, whose status is set: a warning, since
// the bytes are there.
[[gnu::cold]] void warn_of_types(World& world, const RequestObject& receive, SignatureId sent);
inline void check_types(World& world, const RequestObject& receive, SignatureId sent, Count bytes) {
  if (!do_signatures_agree(sent, receive.type->signature(), static_cast<uint64_t>(bytes)))
      [[unlikely]]
    warn_of_types(world, receive, sent);
}

// The same for a rank of a communicator that brings another type to a collective than the first.
[[gnu::cold]] void warn_of_types_in_collective(const CommObject& comm, uint16_t call, int first,
                                               SignatureId first_type, SignatureId type);

// A rank of a group by its name in the run, which does not depend on the communicator.
std::string name_of_member(const Members& group, int rank);

// The message is longer than the receive: says so where the error is raised.
[[gnu::cold]] void note_truncation(const RequestObject& receive, uint64_t bytes);

}  // namespace sesame::mpi
