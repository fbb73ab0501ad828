#include "core/storage/clients.h"

#include <algorithm>
#include <utility>

namespace sesame::storage {

using machine::Coherence;
using machine::WriteHit;
using machine::WriteMiss;

// A file has as many cells as the machine file says, or, by a program's hint, at most one for each
// I/O node.
Clients::Clients(FileSystemContext& context)
    : context_(context),
      cell_fetches_(std::max(context.layouts.usual().cells(), context.layouts.usual().ionodes())) {}

void Request::fire() { clients->resume(*this, time()); }
void Request::done(SimTime at) { clients->complete_one(*this, at); }

void Clients::begin(SimTime now, const Access& access, Completion& completion) {
  context_.files.count(access);
  auto* request = new Request;
  request->clients = this;
  request->access = access;
  request->completion = &completion;
  request->start = now;
  if (access.extents.empty()) {  // not before access() has returned
    context_.events.schedule(*request, now);
  } else {
    resume(*request, now);
  }
}

void Clients::resume(Request& request, SimTime now) {
  if (request.next < request.access.extents.size()) {
    begin_extent(request, now, request.access.extents[request.next++]);
    return;
  }
  FileStatistics& file = context_.files.totals(request.access.file);
  const bool reads = request.access.direction == Direction::kRead;
  (reads ? file.read_time : file.write_time) += elapsed(request.start, now);
  if (!reads) context_.files.extend_contents(request.access);
  Completion& completion = *request.completion;
  delete &request;
  completion.done(now);
}

void Clients::begin_extent(Request& request, SimTime now, const Extent& extent) {
  const bool reads = request.access.direction == Direction::kRead;
  request.ready = now + context_.parameters.client_overhead;
  request.outstanding = 1;  // until all subrequests are sent
  if (context_.caches.at_cnodes() && extent.bytes > 0) {
    const uint64_t block = context_.parameters.block;
    const uint64_t blocks = (extent.offset + extent.bytes - 1) / block - extent.offset / block + 1;
    const machine::CacheParameters& cache = context_.parameters.cnode_cache;
    request.ready += cache.hit_time * static_cast<int64_t>(blocks);
    request.copy = copy_time(cache, extent.bytes, request.access.direction);
    reads ? read_with_cache(request, extent) : write_with_cache(request, extent);
  } else {
    add_run(request, reads ? SubrequestKind::kRead : SubrequestKind::kWrite, extent.offset,
            extent.offset + extent.bytes);
  }
  send_run(request);
  evict_victims(request.ready, request.access.client.node);
  complete_one(request, request.ready);
}

void Clients::read_with_cache(Request& request, const Extent& extent) {
  const uint64_t block = context_.parameters.block;
  const int cnode = context_.caches.cnode_of(request.access.client.node);
  BlockCache& cache = context_.caches.cnode(cnode);
  CacheStatistics& totals = context_.caches.cnode_totals(cnode);
  const uint64_t last = (extent.offset + extent.bytes - 1) / block;
  for (uint64_t number = extent.offset / block; number <= last; ++number) {
    const BlockKey key = block_key(request.access.file, number);
    if (BlockCache::Slot* slot = cache.find(key)) {
      ++totals.read_hits;
      cache.touch(*slot);
      wait_for_fetch(request, slot->fetch);
      continue;
    }
    ++totals.read_misses;
    add_run(request, SubrequestKind::kRead, number * block, (number + 1) * block);
    fetch_block(request, key);
  }
}

void Clients::write_with_cache(Request& request, const Extent& extent) {
  const uint64_t block = context_.parameters.block;
  const int cnode = context_.caches.cnode_of(request.access.client.node);
  BlockCache& cache = context_.caches.cnode(cnode);
  CacheStatistics& totals = context_.caches.cnode_totals(cnode);
  const uint64_t extent_end = extent.offset + extent.bytes;
  for (uint64_t begin = extent.offset; begin < extent_end;) {
    const uint64_t number = begin / block;
    const uint64_t end = std::min((number + 1) * block, extent_end);
    const BlockKey key = block_key(request.access.file, number);
    if (BlockCache::Slot* slot = cache.find(key)) {
      ++totals.write_hits;
      cache.touch(*slot);
      wait_for_fetch(request, slot->fetch);
      write_cached_block(request, cnode, *slot, begin, end);
    } else {
      ++totals.write_misses;
      if (context_.parameters.cnode_cache.write_miss == WriteMiss::kAllocate) {
        allocate_for_write(request, cnode, key, begin, end);
      } else {
        add_run(request, SubrequestKind::kWrite, begin, end);
      }
    }
    begin = end;
  }
}

// Writes bytes of a block that the cache holds.
void Clients::write_cached_block(Request& request, int cnode, BlockCache::Slot& slot,
                                 uint64_t begin, uint64_t end) {
  const machine::StorageParameters& parameters = context_.parameters;
  const bool is_shared = context_.caches.directory.holder(slot.key, cnode) != Directory::kNoNode;
  if (parameters.cnode_cache.write_hit == WriteHit::kThrough ||
      (parameters.coherence == Coherence::kUpdate && is_shared)) {
    add_run(request, SubrequestKind::kWrite, begin, end);
  } else if (!slot.dirty) {
    context_.caches.cnode(cnode).set_dirty(slot, true);
    add_run(request, SubrequestKind::kInvalidateCopies, begin, end);
  }
}

// Inserts a block that is written. The rest of a block that is written in part must be read.
void Clients::allocate_for_write(Request& request, int cnode, BlockKey key, uint64_t begin,
                                 uint64_t end) {
  const uint64_t block = context_.parameters.block;
  const bool goes_through = context_.parameters.cnode_cache.write_hit == WriteHit::kThrough;
  const uint64_t block_begin = block_of(key) * block;
  const bool is_partial =
      end - begin < block && block_begin < context_.files.contents_end(request.access.file);
  if (is_partial) {
    add_run(request, goes_through ? SubrequestKind::kRead : SubrequestKind::kReadToWrite,
            block_begin, block_begin + block);
  } else {
    add_run(request, goes_through ? SubrequestKind::kWrite : SubrequestKind::kInvalidateCopies,
            begin, end);
  }
  BlockCache::Slot& slot = fetch_block(request, key);
  if (!goes_through) context_.caches.cnode(cnode).set_dirty(slot, true);
  if (is_partial && goes_through) add_run(request, SubrequestKind::kWrite, begin, end);
}

// Inserts the block in the cache. REQUIRES: the run that fetches it was added.
BlockCache::Slot& Clients::fetch_block(Request& request, BlockKey key) {
  const uint64_t offset = block_of(key) * context_.parameters.block;
  uint64_t& fetch = cell_fetches_[context_.layouts.of(request.access.file).locate(offset).cell];
  if (fetch == 0) fetch = context_.caches.fetches.begin();
  const int cnode = context_.caches.cnode_of(request.access.client.node);
  BlockCache::Slot victim;
  BlockCache::Slot& slot = context_.caches.insert_at_cnode(cnode, key, fetch, victim);
  if (victim.key != BlockKey{}) victims_.push_back(victim);
  return slot;
}

void Clients::wait_for_fetch(Request& request, uint64_t fetch) {
  if (!context_.caches.fetches.is_pending(fetch)) return;
  ++request.outstanding;
  context_.caches.fetches.wait(fetch, request);
}

void Clients::add_run(Request& request, SubrequestKind kind, uint64_t begin, uint64_t end) {
  if (run_.end != run_.begin && run_.kind == kind && run_.end == begin) {
    run_.end = end;
    return;
  }
  send_run(request);
  run_ = {kind, begin, end};
}

void Clients::send_run(Request& request) {
  const Run run = std::exchange(run_, {});
  const Layout& layout = context_.layouts.of(request.access.file);
  layout.cut({run.begin, run.end - run.begin}, [&](const CellRange& range) {
    auto* subrequest = new Subrequest;
    subrequest->kind = run.kind;
    subrequest->range = range;
    subrequest->fetch = std::exchange(cell_fetches_[range.cell], 0);
    subrequest->ionode = layout.ionode_of(range.cell);
    send_subrequest(request, *subrequest);
  });
}

void Clients::send_subrequest(Request& request, Subrequest& subrequest) {
  subrequest.system = &context_;
  subrequest.request = &request;
  subrequest.file = request.access.file;
  subrequest.node = request.access.client.node;
  ++request.outstanding;
  request.ready += send(subrequest, request.ready);
}

uint64_t Clients::message_bytes(const Subrequest& subrequest) const {
  const bool has_data = subrequest.kind == SubrequestKind::kWrite ||
                        subrequest.kind == SubrequestKind::kWriteBack ||
                        subrequest.kind == SubrequestKind::kDemote;
  return context_.parameters.message_header + (has_data ? subrequest.range.bytes : 0);
}

// Returns the sender's CPU time. Does not occupy interfaces in advance: other messages may be ready
// before this one.
SimTime Clients::send(Subrequest& subrequest, SimTime ready) {
  const auto [at, send_overhead] = context_.links.departure(
      ready, subrequest.node, subrequest.ionode, message_bytes(subrequest));
  if (context_.links.is_local()) {
    transmit(subrequest, at);
  } else {
    context_.events.schedule(subrequest, at);
  }
  return send_overhead;
}

void Clients::transmit(Subrequest& subrequest, SimTime now) {
  const MessageTimes message = context_.links.send_to_ionode(
      now, subrequest.client(), subrequest.ionode, message_bytes(subrequest), subrequest);
  subrequest.state = Subrequest::State::kToIonode;
  subrequest.transfer = message.transfer;
  subrequest.receive_overhead = message.receive_overhead;
}

// Sends the blocks that the element evicted to their I/O nodes: dirty ones, and, if the policy
// wants them, clean ones whose data had arrived.
void Clients::evict_victims(SimTime now, int node) {
  for (const BlockCache::Slot& victim : victims_) {
    if (victim.dirty) {
      evict(now, node, SubrequestKind::kWriteBack, victim.key);
    } else if (context_.policy->accepts_cnode_victims() &&
               !context_.caches.fetches.is_pending(victim.fetch)) {
      evict(now, node, SubrequestKind::kDemote, victim.key);
    }
  }
  victims_.clear();
}

void Clients::evict(SimTime now, int node, SubrequestKind kind, BlockKey key) {
  const uint64_t block = context_.parameters.block;
  auto* subrequest = new Subrequest;
  subrequest->system = &context_;
  subrequest->kind = kind;
  subrequest->file = file_of(key);
  subrequest->node = node;
  const Layout& layout = context_.layouts.of(subrequest->file);
  subrequest->range = layout.locate(block_of(key) * block);
  subrequest->range.bytes = block;
  subrequest->ionode = layout.ionode_of(subrequest->range.cell);
  if (kind == SubrequestKind::kWriteBack)
    ++context_.caches.cnode_totals(context_.caches.cnode_of(node)).written_back;
  send(*subrequest, now);
}

void Clients::receive_reply(Subrequest& subrequest, SimTime now, SimTime transfer,
                            SimTime overhead) {
  Request& request = *subrequest.request;
  const SimTime taken = context_.links.receive_at_node(now, subrequest.node, transfer);
  request.ready = later(request.ready, taken) + overhead;
  if (--subrequest.client_outstanding > 0) return;
  const uint64_t fetch = subrequest.fetch;
  delete &subrequest;
  if (fetch != 0) context_.caches.fetches.complete(fetch, request.ready);
  complete_one(request, request.ready);
}

void Clients::complete_one(Request& request, SimTime at) {
  request.ready = later(request.ready, at);
  if (--request.outstanding > 0) return;
  context_.events.schedule(request, request.ready + request.copy);
}

void Clients::flush(SimTime now, FileId file, const Client& client, Completion& completion) {
  auto* request = new Request;
  request->clients = this;
  request->access.file = file;
  request->access.direction = Direction::kWrite;
  request->access.client = client;
  request->completion = &completion;
  request->start = now;
  request->ready = now + context_.parameters.client_overhead;
  request->outstanding = 1;
  const Layout& layout = context_.layouts.of(file);
  const uint32_t cells = std::min(layout.cells(), layout.ionodes());
  for (uint32_t cell = 0; cell < cells; ++cell) {
    auto* subrequest = new Subrequest;
    subrequest->kind = SubrequestKind::kFlush;
    subrequest->range.cell = cell;
    subrequest->ionode = layout.ionode_of(cell);
    send_subrequest(*request, *subrequest);
  }
  complete_one(*request, request->ready);
}

}  // namespace sesame::storage
