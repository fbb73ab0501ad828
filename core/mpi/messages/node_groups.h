// The members of a communicator by the node that they are on, for collectives that work within
// each node first: Transfer::nodes(). Communicators with the same members share one object, which
// lives as long as one of them.
#pragma once

#include <memory>
#include <vector>

#include "core/mpi/objects/comm.h"
#include "core/network/network.h"

namespace sesame::mpi {

struct NodeGroups {
  NodeGroups(const Members& members, const network::Network& network);

  std::vector<std::vector<int>> ranks;  // of each node, ascending; nodes in order of their lowest
  std::vector<int> leaders;             // the lowest rank of each node
  std::vector<int> node;                // of each rank: its place in `ranks` and `leaders`
  std::vector<int> place;               // of each rank among those of its node

  // Whether there is work within nodes and between them.
  bool has_two_levels() const { return leaders.size() > 1 && leaders.size() < node.size(); }
};

// The one shared division of these ranks.
std::shared_ptr<const NodeGroups> node_groups(const Members& members,
                                              const network::Network& network);

}  // namespace sesame::mpi
