// The keys of a checked machine document that say what messages share: network.sharing,
// [network.card], [network.link], node.network.total_bandwidth.
#pragma once

#include "core/base/error.h"
#include "core/machine/document.h"
#include "core/machine/sharing.h"

namespace sesame::machine {

// `cores`: ranks that a node takes. An Error for cards that no rank can use and for wrong tables.
Result<Sharing> read_sharing(const Document& document, int cores);

}  // namespace sesame::machine
