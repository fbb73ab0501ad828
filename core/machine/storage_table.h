// The [storage] and [node.storage] tables of a checked machine document.
#pragma once

#include <optional>
#include <string>

#include "core/base/error.h"
#include "core/machine/document.h"
#include "core/machine/storage.h"

namespace sesame::machine {

struct NodeLimits {
  int nodes = 0;
  uint64_t memory = 0;  // 0: not said
  uint64_t taken = 0;   // bytes of it that the node's cache of another file system uses
};

// `table` is "storage" or "node.storage". Empty when the document does not have this table.
Result<std::optional<StorageParameters>> read_storage(const Document& document,
                                                      const std::string& table,
                                                      const NodeLimits& limits);

// No path is on two file systems, or twice on one.
Result<> check_mounts(const Document& document);

}  // namespace sesame::machine
