// What a FileSystem is asked for, and how it answers. A file's data is not here: the model says how
// long an access takes, the caller moves the bytes (open_file.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/base/units.h"

namespace sesame::storage {

struct Extent {
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

inline uint64_t bytes_of(std::span<const Extent> extents) {
  uint64_t bytes = 0;
  for (const Extent& extent : extents) bytes += extent.bytes;
  return bytes;
}

enum class FileId : uint32_t {};
enum class Direction : uint8_t { kRead, kWrite };
enum class MetadataCall : uint8_t { kOpen, kCreate, kClose, kStat, kRemove };

// How a new file shall lie on I/O nodes; what is left out is as the file system has it.
struct Striping {
  uint64_t unit = 0;              // bytes in one piece on an I/O node
  uint32_t factor = 0;            // I/O nodes
  std::optional<uint32_t> first;  // the one with the first piece
};

// Who asks.
struct Client {
  int rank = 0;
  int node = 0;
  SimTime* interface_free = nullptr;  // when the rank's network interface can inject again
};

struct Access {
  Direction direction = Direction::kRead;
  FileId file{};
  Client client;
  std::span<const Extent> extents;  // in the order asked for; must live until it is done
  // A literal I/O list: each element is positioned by a seek of its own, empty ones only that.
  bool seeks_each = false;
};

// Told once, when simulated time has come to the end of what was asked.
class Completion {
 public:
  virtual ~Completion() = default;
  virtual void done(SimTime at) = 0;
};

}  // namespace sesame::storage
