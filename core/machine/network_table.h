// The [network] and [node.network] tables of a checked machine document.
#pragma once

#include <string>

#include "core/base/error.h"
#include "core/machine/document.h"
#include "core/machine/machine.h"

namespace sesame::machine {

// `table` is "network" or "node.network".
Result<NetworkParameters> read_network(const Document& document, const std::string& table);

// The Error for a key that must be there, at the line of its table.
std::unexpected<Error> missing_key(const Document& document, const std::string& key);

}  // namespace sesame::machine
