// The common core of the neighbourhood collectives: one message to each destination of the topology
// and one from each source, all in flight at the same time.
#pragma once

#include <variant>

#include "core/mpi/collectives/exchange.h"
#include "core/mpi/collectives/launch.h"
#include "core/mpi/objects/errors.h"
#include "core/mpi/objects/topology.h"

namespace sesame::mpi::collectives {

// The communicator of a neighbourhood collective and its neighbours; an MPI error class if it has
// no topology.
int check_neighbors(Comm handle, CommObject** comm, Neighbors* neighbors);

// `out(i)` returns the block for destination i, `in(i)` the buffer for that from source i.
//
// Several messages between one pair of ranks are matched by their order. In a periodic grid that is
// one or two ranks wide, both neighbours in a dimension are the same rank: a message sent in the
// negative direction arrives from the positive one, so the two are received in the opposite order
// (MPI 4.1, section 8.6).
template <typename Out, typename In>
void exchange_with_neighbors(Transfer& transfer, const Neighbors& neighbors, const Out& out,
                             const In& in) {
  const int sources = static_cast<int>(neighbors.sources.size());
  const int destinations = static_cast<int>(neighbors.destinations.size());
  const bool grid = std::holds_alternative<CartesianTopology>(transfer.comm().topology->variant);
  RequestBatch requests(neighbors.sources.size() + neighbors.destinations.size());
  for (int i = 0; i < sources; ++i) {
    const int slot = grid ? i ^ 1 : i;
    const int source = neighbors.sources[static_cast<size_t>(slot)];
    if (source == MPI_PROC_NULL) continue;
    const InBlock to = in(slot);
    transfer.start_receive(requests.next(), to.data, to.count, *to.type, source);
  }
  for (int i = 0; i < destinations; ++i) {
    const int destination = neighbors.destinations[static_cast<size_t>(i)];
    if (destination == MPI_PROC_NULL) continue;
    const OutBlock from = out(i);
    transfer.start_send(requests.next(), from.data, from.count, *from.type, destination);
  }
  transfer.wait_all(requests.started());
}

}  // namespace sesame::mpi::collectives
