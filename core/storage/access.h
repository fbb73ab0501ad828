// The requests that a FileSystem (file_system.h) takes, and how it reports their end. Only their
// time is modelled: the caller moves the bytes (open_file.h).
//
// Sizes and offsets are bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace sesame {
class SimTime;  // sim_time.h: not here, so that the loader, which has no times, is compiled once
}

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

// A file within one FileSystem. A FileSystem never uses the number of a removed file again.
enum class FileId : uint32_t {};
enum class Direction : uint8_t { kRead, kWrite };
enum class MetadataCall : uint8_t { kOpen, kCreate, kClose, kStat, kRemove };

// How a new file is striped over I/O nodes. Fields that are 0 or empty keep the file system's
// default.
struct Striping {
  uint64_t unit = 0;              // bytes in one stripe unit, a multiple of the file system's block
  uint32_t factor = 0;            // number of I/O nodes
  std::optional<uint32_t> first;  // I/O node of the first stripe unit
};

// The rank that makes a request.
struct Client {
  int rank = 0;
  int node = 0;
  SimTime* interface_free =
      nullptr;  // when the rank's network interface can inject the next message; null: the request
                // comes from the node itself (its cache). Not owned.
};

struct Access {
  Direction direction = Direction::kRead;
  FileId file{};
  Client client;
  std::span<const Extent> extents;  // served one after the other; must live until the completion
  // The list is literal: count one seek for each element, even for empty and adjacent ones.
  bool seeks_each = false;
};

// Called once, when simulated time has reached the end of the request, never before the function
// that took the request has returned. Must live until then; may delete itself in done().
class Completion {
 public:
  virtual ~Completion() = default;
  virtual void done(SimTime at) = 0;
};

}  // namespace sesame::storage
