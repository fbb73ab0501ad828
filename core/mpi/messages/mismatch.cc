#include "core/mpi/messages/mismatch.h"

#include "core/mpi/call_ids.h"
#include "core/mpi/messages/world.h"

namespace sesame::mpi {
namespace {

// One mistake of a program may lead to many pairs of types; the first ones are enough to show it.
constexpr size_t kMostWarnings = 8;

Rank& receiver_of(World& world, const RequestObject& receive) {
  const CommObject& comm = *receive.comm;
  return *world.ranks[static_cast<size_t>((*comm.local)[comm.rank])];
}

std::string describe_peer(const RequestObject& receive) {
  const CommObject& comm = *receive.comm;
  std::string text = name_of_member(*comm.remote, receive.status.MPI_SOURCE);
  if (receive.context == comm.context) text += ", tag " + std::to_string(receive.status.MPI_TAG);
  return text;
}

}  // namespace

std::string name_of_member(const Members& group, int rank) {
  return this_rank().world.ranks[static_cast<size_t>(group[rank])]->name();
}

// Whether this pair of types has to be reported; true only once for each pair.
static bool is_new_mismatch(World& world, SignatureId first, SignatureId second) {
  auto& known = world.reported_mismatches;
  return world.hooks.warn != nullptr && known.size() < kMostWarnings &&
         known.emplace(first, second).second;
}

void warn_of_types_in_collective(const CommObject& comm, uint16_t call, int first,
                                 SignatureId first_type, SignatureId type) {
  World& world = this_rank().world;
  if (!is_new_mismatch(world, first_type, type)) return;
  world.hooks.warn("the ranks pass different types to " +
                   std::string(call_name(static_cast<CallId>(call))) + ": " +
                   name_of_member(*comm.local, first) + " " + describe_signature(first_type) +
                   ", " + name_of_member(*comm.local, comm.rank) + " " + describe_signature(type));
}

void warn_of_types(World& world, const RequestObject& receive, SignatureId sent) {
  const SignatureId wanted = receive.type->signature();
  if (!is_new_mismatch(world, sent, wanted)) return;
  const Rank& receiver = receiver_of(world, receive);
  const uint16_t call = receiver.main.call;
  world.hooks.warn(receiver.name() + " receives " + describe_signature(wanted) +
                   (call != 0 ? std::string(" in ") + call_name(static_cast<CallId>(call)) : "") +
                   ", but " + describe_signature(sent) + " were sent (by " +
                   describe_peer(receive) + "): the receiver misinterprets the bytes");
}

void explain_truncation(const RequestObject& receive, uint64_t bytes) {
  receiver_of(this_rank().world, receive).errors.detail =
      "the message of " + std::to_string(bytes) + " bytes from " + describe_peer(receive) +
      " is longer than the receive, which takes " + std::to_string(receive.bytes());
}

}  // namespace sesame::mpi
