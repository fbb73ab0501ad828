// The [topology] table of a checked machine document, and the number of nodes, which must agree.
#pragma once

#include "core/base/error.h"
#include "core/machine/document.h"
#include "core/machine/machine.h"

namespace sesame::machine {

Result<Topology> read_topology(const Document& document);

// An Error if messages would share more links than a simulation can hold.
Result<> check_links(const Document& document, const Topology& topology, int nodes);

// `nodes`, or the topology's size where the file leaves it out.
Result<int> read_nodes(const Document& document, const Topology& topology);

}  // namespace sesame::machine
