// Which process of a parallel simulation has which nodes, and with them their links
// (Traffic::divide_among_processes()).
#pragma once

#include <vector>

namespace sesame::network {

// The process of each node. `with_ranks`: that of each node with ranks, -1 for the others. Such a
// node belongs to that of the last one before it with ranks; those behind the last node with ranks
// are divided evenly among all `processes`, in blocks: routes may lead through them.
std::vector<int> divide_nodes(std::vector<int> with_ranks, int processes);

}  // namespace sesame::network
