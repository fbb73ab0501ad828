#include "core/storage/clients.h"

#include <algorithm>
#include <utility>

namespace sesame::storage {

using machine::Coherence;
using machine::WriteHit;
using machine::WriteMiss;

// A file has the cells of the machine file, or as a program wanted one for each of some I/O nodes.
Clients::Clients(FileSystemContext& context)
    : context_(context),
      cell_fetches_(std::max(context.layouts.usual().cells(), context.layouts.usual().ionodes())) {}

void Request::fire() { clients->resume(*this, time()); }
void Request::done(SimTime at) { clients->part_done(*this, at); }

void Clients::begin(SimTime now, const Access& access, Completion& completion) {
  context_.files.count(access);
  auto* request = new Request;
  request->clients = this;
  request->access = access;
  request->completion = &completion;
  request->began = now;
  if (access.extents.empty()) {  // nobody is told before access() has returned
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
  (reads ? file.read_time : file.write_time) += now - request.began;
  if (!reads) context_.files.note_contents(request.access);
  Completion& completion = *request.completion;
  delete &request;
  completion.done(now);
}

void Clients::begin_extent(Request& request, SimTime now, const Extent& extent) {
  const bool reads = request.access.direction == Direction::kRead;
  request.ready = now + context_.parameters.client_overhead;
  request.parts = 1;  // this one, until all is sent
  if (context_.caches.at_cnodes() && extent.bytes > 0) {
    const uint64_t block = context_.parameters.block;
    const uint64_t blocks = (extent.offset + extent.bytes - 1) / block - extent.offset / block + 1;
    const machine::CacheParameters& cache = context_.parameters.cnode_cache;
    request.ready += cache.hit_time * static_cast<int64_t>(blocks);
    request.copy = copy_time(cache, extent.bytes, request.access.direction);
    reads ? read_cached(request, extent) : write_cached(request, extent);
  } else {
    add_run(request, reads ? PieceKind::kRead : PieceKind::kWrite, extent.offset,
            extent.offset + extent.bytes);
  }
  send_run(request);
  evict_victims(request.ready, request.access.client.node);
  part_done(request, request.ready);
}

void Clients::read_cached(Request& request, const Extent& extent) {
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
      await(request, slot->fetch);
      continue;
    }
    ++totals.read_misses;
    add_run(request, PieceKind::kRead, number * block, (number + 1) * block);
    fetch_block(request, key);
  }
}

void Clients::write_cached(Request& request, const Extent& extent) {
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
      await(request, slot->fetch);
      write_kept(request, cnode, *slot, begin, end);
    } else {
      ++totals.write_misses;
      if (context_.parameters.cnode_cache.write_miss == WriteMiss::kAllocate) {
        allocate_written(request, cnode, key, begin, end);
      } else {
        add_run(request, PieceKind::kWrite, begin, end);
      }
    }
    begin = end;
  }
}

// Bytes of a block that the cache has and keeps.
void Clients::write_kept(Request& request, int cnode, BlockCache::Slot& slot, uint64_t begin,
                         uint64_t end) {
  const machine::StorageParameters& parameters = context_.parameters;
  const bool is_shared = context_.caches.directory.holder(slot.key, cnode) != Directory::kNobody;
  if (parameters.cnode_cache.write_hit == WriteHit::kThrough ||
      (parameters.coherence == Coherence::kUpdate && is_shared)) {
    add_run(request, PieceKind::kWrite, begin, end);
  } else if (!slot.dirty) {
    context_.caches.cnode(cnode).set_dirty(slot, true);
    add_run(request, PieceKind::kOwn, begin, end);
  }
}

// A block that is written comes to the cache; what of it is not written has to be read.
void Clients::allocate_written(Request& request, int cnode, BlockKey key, uint64_t begin,
                               uint64_t end) {
  const uint64_t block = context_.parameters.block;
  const bool goes_through = context_.parameters.cnode_cache.write_hit == WriteHit::kThrough;
  const uint64_t block_begin = block_of(key) * block;
  const bool is_partial =
      end - begin < block && block_begin < context_.files.contents_end(request.access.file);
  if (is_partial) {
    add_run(request, goes_through ? PieceKind::kRead : PieceKind::kReadToWrite, block_begin,
            block_begin + block);
  } else {
    add_run(request, goes_through ? PieceKind::kWrite : PieceKind::kOwn, begin, end);
  }
  BlockCache::Slot& slot = fetch_block(request, key);
  if (!goes_through) context_.caches.cnode(cnode).set_dirty(slot, true);
  if (is_partial && goes_through) add_run(request, PieceKind::kWrite, begin, end);
}

// REQUIRES: the run that brings the block has been added.
BlockCache::Slot& Clients::fetch_block(Request& request, BlockKey key) {
  const uint64_t offset = block_of(key) * context_.parameters.block;
  uint64_t& fetch = cell_fetches_[context_.layouts.of(request.access.file).locate(offset).cell];
  if (fetch == 0) fetch = context_.caches.fetches.begin();
  const int cnode = context_.caches.cnode_of(request.access.client.node);
  BlockCache::Slot victim;
  BlockCache::Slot& slot = context_.caches.bring_to_cnode(cnode, key, fetch, victim);
  if (victim.key != BlockKey{}) victims_.push_back(victim);
  return slot;
}

void Clients::await(Request& request, uint64_t fetch) {
  if (!context_.caches.fetches.is_pending(fetch)) return;
  ++request.parts;
  context_.caches.fetches.wait(fetch, request);
}

void Clients::add_run(Request& request, PieceKind kind, uint64_t begin, uint64_t end) {
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
    auto* piece = new Piece;
    piece->kind = run.kind;
    piece->range = range;
    piece->fetch = std::exchange(cell_fetches_[range.cell], 0);
    piece->ionode = layout.ionode_of(range.cell);
    send_piece(request, *piece);
  });
}

void Clients::send_piece(Request& request, Piece& piece) {
  piece.system = &context_;
  piece.request = &request;
  piece.file = request.access.file;
  piece.node = request.access.client.node;
  ++request.parts;
  request.ready += send(piece, request.ready);
}

uint64_t Clients::message_bytes(const Piece& piece) const {
  const bool has_data = piece.kind == PieceKind::kWrite || piece.kind == PieceKind::kWriteBack ||
                        piece.kind == PieceKind::kDemote;
  return context_.parameters.message_header + (has_data ? piece.range.bytes : 0);
}

// Gives the sender's CPU time. Interfaces and cards are not reserved ahead: other messages may be
// ready before this one.
SimTime Clients::send(Piece& piece, SimTime ready) {
  const auto [at, send_overhead] =
      context_.links.departure(ready, piece.node, piece.ionode, message_bytes(piece));
  if (context_.links.is_local()) {
    leave(piece, at);
  } else {
    context_.events.schedule(piece, at);
  }
  return send_overhead;
}

void Clients::leave(Piece& piece, SimTime now) {
  const Client client =
      piece.request != nullptr ? piece.request->access.client : Client{.node = piece.node};
  const Flight flight = context_.links.leave(now, client, piece.ionode, message_bytes(piece));
  piece.state = Piece::State::kToIonode;
  piece.transfer = flight.transfer;
  piece.receive_overhead = flight.receive_overhead;
  context_.events.schedule(piece, flight.arrival);
}

// What leaves a compute node's cache, unless it was on its way there and nobody has it yet.
void Clients::evict_victims(SimTime now, int node) {
  for (const BlockCache::Slot& victim : victims_) {
    if (victim.dirty) {
      evict(now, node, PieceKind::kWriteBack, victim.key);
    } else if (context_.policy->takes_cnode_victims() &&
               !context_.caches.fetches.is_pending(victim.fetch)) {
      evict(now, node, PieceKind::kDemote, victim.key);
    }
  }
  victims_.clear();
}

void Clients::evict(SimTime now, int node, PieceKind kind, BlockKey key) {
  const uint64_t block = context_.parameters.block;
  auto* piece = new Piece;
  piece->system = &context_;
  piece->kind = kind;
  piece->file = file_of(key);
  piece->node = node;
  const Layout& layout = context_.layouts.of(piece->file);
  piece->range = layout.locate(block_of(key) * block);
  piece->range.bytes = block;
  piece->ionode = layout.ionode_of(piece->range.cell);
  if (kind == PieceKind::kWriteBack)
    ++context_.caches.cnode_totals(context_.caches.cnode_of(node)).written_back;
  send(*piece, now);
}

void Clients::receive(Piece& piece, SimTime now, SimTime transfer, SimTime overhead) {
  Request& request = *piece.request;
  const SimTime taken = context_.links.take_in_at_node(now, piece.node, transfer);
  request.ready = later(request.ready, taken) + overhead;
  if (--piece.client_parts > 0) return;
  const uint64_t fetch = piece.fetch;
  delete &piece;
  if (fetch != 0) context_.caches.fetches.complete(fetch, request.ready);
  part_done(request, request.ready);
}

void Clients::part_done(Request& request, SimTime at) {
  request.ready = later(request.ready, at);
  if (--request.parts > 0) return;
  context_.events.schedule(request, request.ready + request.copy);
}

void Clients::flush(SimTime now, FileId file, const Client& client, Completion& completion) {
  auto* request = new Request;
  request->clients = this;
  request->access.file = file;
  request->access.direction = Direction::kWrite;
  request->access.client = client;
  request->completion = &completion;
  request->began = now;
  request->ready = now + context_.parameters.client_overhead;
  request->parts = 1;
  const Layout& layout = context_.layouts.of(file);
  const uint32_t cells = std::min(layout.cells(), layout.ionodes());
  for (uint32_t cell = 0; cell < cells; ++cell) {
    auto* piece = new Piece;
    piece->kind = PieceKind::kFlush;
    piece->range.cell = cell;
    piece->ionode = layout.ionode_of(cell);
    send_piece(*request, *piece);
  }
  part_done(*request, request->ready);
}

}  // namespace sesame::storage
