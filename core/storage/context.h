// FileSystemContext: what the components of a fully modelled file system share, and the objects
// that travel between them: Request (an access of a rank), Subrequest (what one I/O node does for a
// request) and Forward (blocks that one compute node sends to another). These are events of the
// simulation. They come from pools and delete themselves when they are complete.
//
// Sizes and offsets are bytes.
#pragma once

#include <memory>
#include <vector>

#include "core/base/pool.h"
#include "core/pdes/event_queue.h"
#include "core/storage/cache_policy.h"
#include "core/storage/caches.h"
#include "core/storage/file_table.h"
#include "core/storage/layout.h"
#include "core/storage/links.h"
#include "core/storage/space.h"

namespace sesame::storage {

class Clients;
class Ionode;

struct FileSystemContext {
  FileSystemContext(const machine::StorageParameters& given, const network::Network& network,
                    network::Traffic* traffic, pdes::EventQueue& queue, uint64_t seed);
  ~FileSystemContext();

  machine::StorageParameters parameters;
  Layouts layouts;
  Links links;
  Caches caches;
  std::unique_ptr<CachePolicy> policy;
  Space space;
  FileTable files;
  pdes::EventQueue& events;
  std::unique_ptr<Clients> clients;
  std::vector<std::unique_ptr<Ionode>> ionodes;
};

// One access of a rank. Its elements are served one after the other.
struct Request final : pdes::ConditionalEvent, Completion, Pooled<Request> {
  void fire() override;            // starts the next element, or completes the access
  void done(SimTime at) override;  // a block that another request fetches has arrived
  Clients* clients = nullptr;
  Access access;
  Completion* completion = nullptr;
  SimTime start;
  size_t next = 0;           // the element to start next
  uint32_t outstanding = 0;  // subrequests and fetches that the current element waits for
  SimTime ready;             // when the rank's CPU has processed all replies so far
  SimTime copy;              // time of the copy from or to the cache, after the last reply
};

enum class SubrequestKind : uint8_t {
  kRead,
  kReadToWrite,  // reads a block that will be written in part and kept dirty
  kWrite,
  kInvalidateCopies,  // the compute node writes to its cache only: invalidates all other copies
  kWriteBack,         // a compute node evicts or cleans a dirty block
  kDemote,            // a compute node evicts a clean block and sends it to the I/O node
  kFlush,
};

// What one I/O node does for a request; or, without a request, for a cache that writes back.
struct Subrequest final : pdes::ConditionalEvent, Completion, Pooled<Subrequest> {
  enum class State : uint8_t { kLeaving, kToIonode, kAtCpu, kToClient };
  void fire() override;
  void done(SimTime at) override;  // one of what the I/O node waits for is complete
  // Who gets the reply: the rank; without a request the node's cache.
  Client client() const {
    return request != nullptr ? request->access.client : Client{.node = node};
  }
  FileSystemContext* system = nullptr;
  Request* request = nullptr;  // null: no request waits for it
  SubrequestKind kind = SubrequestKind::kRead;
  State state = State::kLeaving;
  FileId file{};
  int node = 0;
  uint32_t ionode = 0;
  CellRange range;
  uint64_t fetch = 0;  // of the compute node's cache: completes when the reply arrives; 0: none
  SimTime transfer;    // of the message in flight: time it occupies the receiver's interface
  SimTime receive_overhead;
  // Device runs, fetches and replies to control messages that the I/O node waits for.
  uint32_t ionode_outstanding = 0;
  uint32_t client_outstanding =
      0;  // messages that the client waits for: the reply, forwarded blocks
  uint64_t reply_bytes = 0;
  bool has_reply = false;    // false: other compute nodes send all blocks
  bool has_commit = false;   // a flush with a journal commit still to come
  uint64_t transaction = 0;  // its transaction in the journal
};

// Blocks that a compute node sends from its cache to the reader. The I/O node's message asks for
// them, then the blocks travel to the reader.
struct Forward final : pdes::ConditionalEvent, Completion, Pooled<Forward> {
  void fire() override;
  void done(SimTime at) override;  // the blocks have arrived in the cache of the sender
  FileSystemContext* system = nullptr;
  Subrequest* subrequest = nullptr;
  int from = 0;  // node that sends the blocks
  uint64_t bytes = 0;
  uint64_t fetch = 0;
  bool has_reached_source = false;
  SimTime ready;  // when the sender's CPU is ready to send
  SimTime transfer;
  SimTime receive_overhead;
};

// The time to copy bytes between a cache and the program.
inline SimTime copy_time(const machine::CacheParameters& cache, uint64_t bytes,
                         Direction direction) {
  const bool is_write = direction == Direction::kWrite && cache.write_copy_bandwidth > 0;
  const double bandwidth = is_write ? cache.write_copy_bandwidth : cache.copy_bandwidth;
  if (bandwidth == 0) return {};
  return SimTime::from_seconds(static_cast<double>(bytes) / bandwidth)
      .due_to(is_write ? cache.write_copy_key : cache.copy_key);
}

// Calls visit(BlockKey, uint64_t cell_block, uint64_t begin, uint64_t end) for every block that a
// cell's range touches: the block's number in the cell, and the first and end byte of the range
// within the block.
template <typename Visit>
void for_each_block(const FileSystemContext& context, FileId file, const CellRange& range,
                    Visit visit) {
  const uint64_t block = context.parameters.block;
  const Layout& layout = context.layouts.of(file);
  const uint64_t range_end = range.begin + range.bytes;
  for (uint64_t at = range.begin; at < range_end;) {
    const uint64_t offset = layout.file_offset(range.cell, at);
    const uint64_t unit_left = layout.unit() - at % layout.unit();
    const uint64_t run_end = at + std::min(range_end - at, unit_left);
    uint64_t number = offset / block;
    uint64_t cell_block = at / block;
    while (at < run_end) {
      const uint64_t begin = at - cell_block * block;
      const uint64_t end = std::min(block, run_end - cell_block * block);
      visit(block_key(file, number), cell_block, begin, end);
      at = (cell_block + 1) * block;
      ++number;
      ++cell_block;
    }
    at = std::min(at, run_end);
  }
}

}  // namespace sesame::storage
