// Which worker of a parallel simulation simulates which ranks (docs/models/parallel.md): whole
// nodes, since what is inside a node, its memory and cards, stays in one process; or whole groups
// of nodes, where routes are chosen by the state of a group's links.
#pragma once

#include <vector>

namespace sesame::sim {

// The worker of each rank, 0 to `workers` - 1. Each worker has nodes that follow each other in the
// order of their first ranks, and numbers of ranks are as equal as that allows. `nodes`: by rank;
// groups in their place stay whole. Empty if the ranks are on fewer nodes than workers.
std::vector<int> divide_ranks(const std::vector<int>& nodes, int workers);
// How many ranks the worker with the most has. REQUIRES: the division is not empty.
int largest_share(const std::vector<int>& workers_of_ranks);

}  // namespace sesame::sim
