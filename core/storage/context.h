// FileSystemContext: what the components of a fully modelled file system share; and what goes
// between them: requests of ranks, the pieces of them that I/O nodes serve, and blocks that compute
// nodes forward to each other. The latter come from pools and return there when they are done.
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
                    pdes::EventQueue& queue, uint64_t seed);
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

// One access of a rank: its elements are served one after the other.
struct Request final : pdes::ConditionalEvent, Completion, Pooled<Request> {
  void fire() override;            // the element is done, or the access begins
  void done(SimTime at) override;  // a block that another request brings is there
  Clients* clients = nullptr;
  Access access;
  Completion* completion = nullptr;
  SimTime began;
  size_t next = 0;     // element
  uint32_t parts = 0;  // of the element, still under way
  SimTime ready;       // the rank's CPU is done with what came so far
  SimTime copy;        // from or to the cache, at the end
};

enum class PieceKind : uint8_t {
  kRead,
  kReadToWrite,  // a block of which a part is about to be written and kept
  kWrite,
  kOwn,        // a compute node writes to its cache only: other copies are invalid from now on
  kWriteBack,  // dirty data leaves a compute node's cache
  kDemote,     // clean data does, and its I/O node takes it
  kFlush,
};

// What an I/O node has to do for a request, or for nobody.
struct Piece final : pdes::ConditionalEvent, Completion, Pooled<Piece> {
  enum class State : uint8_t { kLeaving, kToIonode, kAtCpu, kToClient };
  void fire() override;
  void done(SimTime at) override;  // the device or a fetch is done with part of it
  FileSystemContext* system = nullptr;
  Request* request = nullptr;  // null: nobody waits
  PieceKind kind = PieceKind::kRead;
  State state = State::kLeaving;
  FileId file{};
  int node = 0;
  uint32_t ionode = 0;
  CellRange range;
  uint64_t fetch = 0;  // brings its blocks to the compute node's cache
  SimTime transfer;    // of the message under way
  SimTime receive_overhead;
  uint32_t device_parts = 0;  // what the I/O node waits for
  uint32_t client_parts = 0;  // what the client waits for: the reply, forwarded blocks
  uint64_t reply_bytes = 0;
  bool has_reply = false;    // not when other compute nodes send everything
  SimTime not_before;        // until then other compute nodes have not dropped their copies
  bool has_commit = false;   // a flush that had something to write, while its data is not written
  uint64_t transaction = 0;  // of the journal, of such a flush
};

// Blocks that go from the cache of one compute node to another node.
struct Forward final : pdes::ConditionalEvent, Completion, Pooled<Forward> {
  void fire() override;
  void done(SimTime at) override;  // the blocks are in the cache they come from
  FileSystemContext* system = nullptr;
  Piece* piece = nullptr;
  int from = 0;  // nodes
  uint64_t bytes = 0;
  uint64_t fetch = 0;
  bool is_asked = false;
  SimTime ready;  // to send, but for the fetch
  SimTime transfer;
  SimTime receive_overhead;
};

inline SimTime copy_time(const machine::CacheParameters& cache, uint64_t bytes,
                         Direction direction) {
  const bool is_write = direction == Direction::kWrite && cache.write_copy_bandwidth > 0;
  const double bandwidth = is_write ? cache.write_copy_bandwidth : cache.copy_bandwidth;
  if (bandwidth == 0) return {};
  return SimTime::from_seconds(static_cast<double>(bytes) / bandwidth);
}

// Calls visit(BlockKey, uint64_t cell_block, uint64_t begin, uint64_t end) for every block of a
// cell's range, with the bytes of the block that the range has.
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
