// The two levels of a collective that first works within each node, and then between the nodes by
// the lowest rank of each, as MPICH composes them (its composition "alpha"). Each part uses the
// algorithm that is chosen for so many ranks.
//
// Use: where Transfer::has_two_levels(), make a Levels on each rank and call in_node() and
// between_nodes() in the same order on all.
#pragma once

#include <functional>

#include "core/mpi/messages/node_groups.h"
#include "core/mpi/messages/transfer.h"

namespace sesame::mpi::collectives {

// The parts that one rank takes part in. Their errors become the collective's. Refers to the
// Transfer.
class Levels {
 public:
  using CollectiveOfPart = std::function<void(Transfer&)>;

  explicit Levels(Transfer& whole)
      : whole_(whole),
        groups_(whole.nodes()),
        node_(groups_.node[static_cast<size_t>(whole.rank())]),
        place_(groups_.place[static_cast<size_t>(whole.rank())]) {}

  bool leads() const { return place_ == 0; }
  // The number of the node that a rank is on, and that node's leader.
  int node_of(int rank) const { return groups_.node[static_cast<size_t>(rank)]; }
  int leader_of(int rank) const { return groups_.leaders[static_cast<size_t>(node_of(rank))]; }

  // `part(transfer)` by the ranks of this rank's node.
  void in_node(const CollectiveOfPart& part) {
    const auto& ranks = groups_.ranks[static_cast<size_t>(node_)];
    if (ranks.size() > 1) run(whole_.among(ranks, place_), part);
  }
  // `part(transfer)` by the leaders, where rank i is that of node i.
  void between_nodes(const CollectiveOfPart& part) {
    if (leads()) run(whole_.among(groups_.leaders, node_), part);
  }

 private:
  void run(Transfer transfer, const CollectiveOfPart& part) {
    part(transfer);
    whole_.note_error(transfer.error());
  }

  Transfer& whole_;
  const NodeGroups& groups_;
  int node_;
  int place_;
};

}  // namespace sesame::mpi::collectives
