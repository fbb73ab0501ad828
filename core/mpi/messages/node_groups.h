// The members of a communicator by the node that they are on, for collectives that work within
// each node first. The ranks of a communicator share one object: Transfer::nodes().
#pragma once

#include <memory>
#include <vector>

#include "core/mpi/objects/comm.h"
#include "core/network/network.h"

namespace sesame::mpi {

struct NodeGroups {
  NodeGroups(MembersRef of, const network::Network& network);

  MembersRef members;
  std::vector<std::vector<int>> ranks;  // of each node, ascending; nodes in order of their lowest
  std::vector<int> leaders;             // the lowest rank of each node
  std::vector<int> node;                // of each rank: its place in `ranks` and `leaders`
  std::vector<int> place;               // of each rank among those of its node

  // Whether there is work within nodes and between them.
  bool has_two_levels() const { return leaders.size() > 1 && leaders.size() < node.size(); }
};

}  // namespace sesame::mpi
