// Which node each rank runs on. Wrong input is an Error that says which rank does not fit.
#pragma once

#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/machine/machine.h"

namespace sesame::machine {

// Returns the node of each rank. `placement` is one of:
// - "block": fills a node's cores, then the next node;
// - "cyclic": one rank on each node in turn, then again from the first;
// - the path of a file with a node index on each line, for rank 0, 1, …
Result<std::vector<int>> place_ranks(const Machine& machine, int ranks,
                                     const std::string& placement = "block");

// The nodes of up to `ranks` more ranks, on free cores. `taken` is the number of cores in use on
// each node. "cyclic" takes the nodes with the fewest ranks first; "block" and files fill the first
// node with a free core, then the next. `allowed` are the nodes to choose from; empty: all.
std::vector<int> place_more(const Machine& machine, int ranks, const std::string& placement,
                            std::vector<int> taken, const std::vector<int>& allowed = {});

}  // namespace sesame::machine
