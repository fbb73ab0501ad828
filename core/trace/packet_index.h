// Where the packets of each stream are: a raw trace has a file for each rank, or one for all.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/error.h"

namespace sesame::trace {

// The stream of one rank.
struct StreamSource {
  std::string path;
  std::vector<uint64_t> packets;  // the bytes at which they begin; empty: the whole file
};

// By rank. Bytes that are not a packet count as one of the packet in front of them, so that reading
// finds and reports the damage.
Result<std::vector<StreamSource>> stream_sources(const std::string& directory);

}  // namespace sesame::trace
