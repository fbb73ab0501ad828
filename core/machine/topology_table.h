// The [topology] table of a checked machine document, and the number of nodes, which must agree.
#pragma once

#include "core/base/error.h"
#include "core/machine/document.h"
#include "core/machine/machine.h"

namespace sesame::machine {

Result<Topology> read_topology(const Document& document);

// `nodes`, or the topology's size where the file leaves it out.
Result<int> read_nodes(const Document& document, const Topology& topology);

}  // namespace sesame::machine
