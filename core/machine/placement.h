// Which node each rank runs on. Wrong input is an Error that says which rank does not fit.
#pragma once

#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/machine/machine.h"

namespace sesame::machine {

// `placement` is "block" (fill a node's cores, then the next node), "cyclic" (one rank per node
// over all the nodes, then again from the first) or the path of a file with one node index per
// line, line by line for rank 0, 1, …. Returns the node of each rank.
Result<std::vector<int>> place_ranks(const Machine& machine, int ranks,
                                     const std::string& placement = "block");

// The nodes of up to `ranks` more ranks, on cores that are free: `taken` says for each node how
// many are not. "cyclic" takes the nodes with the fewest ranks first; "block" and files fill the
// first node with a free core, then the next. `allowed` are the nodes to choose from; empty: all.
std::vector<int> place_more(const Machine& machine, int ranks, const std::string& placement,
                            std::vector<int> taken, const std::vector<int>& allowed = {});

}  // namespace sesame::machine
