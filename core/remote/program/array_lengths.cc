// Lengths of arrays that only the simulator knows (core/mpi/calls/array_lengths.h).
#include "core/mpi/calls/array_lengths.h"

#include "core/remote/program/comm_facts.h"
#include "core/remote/program/requests.h"

namespace sesame::mpi {

using remote::CallRequest;
using remote::SpecialCall;

namespace {

Count ask(SpecialCall what, Comm comm) {
  CallRequest request(static_cast<uint16_t>(what));
  request.put(comm);
  return request.query();
}

}  // namespace

Count peers(Comm comm) { return ask(SpecialCall::kPeers, comm); }
Count local_peers(Comm comm) { return ask(SpecialCall::kLocalPeers, comm); }
Count in_neighbors(Comm comm) { return ask(SpecialCall::kInNeighbors, comm); }
Count out_neighbors(Comm comm) { return ask(SpecialCall::kOutNeighbors, comm); }
Count dimensions(Comm comm) { return ask(SpecialCall::kDimensions, comm); }

Count at_root(int count, int root, Comm comm) {
  const auto facts = remote::facts_of(comm);
  return facts && facts->rank == root ? count : 0;
}

Count root_peers(int root, Comm comm) {
  CallRequest request(static_cast<uint16_t>(SpecialCall::kRootPeers));
  request.put(comm);
  request.put(root);
  return request.query();
}

}  // namespace sesame::mpi
