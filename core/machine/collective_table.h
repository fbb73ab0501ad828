// Reads the [[collectives.NAME]] tables of a machine file and [collectives.hardware].
#pragma once

#include "core/base/error.h"
#include "core/machine/collective_rules.h"
#include "core/machine/document.h"

namespace sesame::machine {

// An Error for an incomplete rule, or one that can never hold. REQUIRES: check_entries passed.
Result<CollectiveTables> read_collectives(const Document& document);

}  // namespace sesame::machine
