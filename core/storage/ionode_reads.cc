// What an I/O node does with reads.
#include <algorithm>

#include "core/storage/clients.h"
#include "core/storage/ionode.h"

namespace sesame::storage {

using SourcePlace = CachePolicy::Source::Place;

void Forward::fire() {
  if (is_asked) {
    Piece& waiting = *piece;
    const SimTime now = time();
    const SimTime taking = transfer;
    const SimTime overhead = receive_overhead;
    Clients& clients = *system->clients;
    delete this;
    clients.receive(waiting, now, taking, overhead);
    return;
  }
  is_asked = true;
  const machine::CacheParameters& cache = system->parameters.cnode_cache;
  const SimTime taken = system->links.take_in_at_node(time(), from, transfer);
  ready = taken + receive_overhead + cache.hit_time + copy_time(cache, bytes, Direction::kRead);
  if (system->caches.fetches.is_pending(fetch)) {
    system->caches.fetches.wait(fetch, *this);
  } else {
    done(ready);
  }
}

void Forward::done(SimTime at) {
  const Flight flight = system->links.between_cnodes(later(at, ready), from, piece->node,
                                                     system->parameters.message_header + bytes);
  transfer = flight.transfer;
  receive_overhead = flight.receive_overhead;
  system->events.schedule(*this, flight.arrival);
}

void Ionode::read(Piece& piece, SimTime now) {
  count(Direction::kRead, piece.range.bytes);
  if (context_.caches.at_ionodes() || context_.caches.at_cnodes()) {
    read_blocks(piece, now);
  } else {
    piece.reply_bytes = piece.range.bytes;
    use_device(now, Direction::kRead, piece.file, piece.range, &piece, 0);
  }
  piece.has_reply = piece.reply_bytes > 0 || piece.not_before > SimTime::zero();
  if (piece.has_reply) ++piece.client_parts;
}

void Ionode::read_blocks(Piece& piece, SimTime now) {
  Caches& caches = context_.caches;
  CacheStatistics& totals = caches.ionode_totals(number_);
  const int reader = caches.at_cnodes() ? caches.cnode_of(piece.node) : Directory::kNobody;
  const bool is_to_write = piece.kind == PieceKind::kReadToWrite;
  bool has_missed = false;
  run_ = {};
  for_each_block(context_, piece.file, piece.range,
                 [&](BlockKey key, uint64_t cell_block, uint64_t begin, uint64_t end) {
                   const IonodeBlock block = at(key, piece.file, cell_block);
                   CachePolicy::Source dirty;
                   const bool is_recalled = recall(now, block, reader, dirty);
                   CachePolicy::Source source = context_.policy->find(caches, block, reader);
                   if (is_recalled) source = dirty;
                   if (is_to_write) drop_other_copies(piece, now, block, 0);
                   if (piece.fetch != 0) caches.register_holder(reader, key, piece.fetch);
                   // Dirty data is nowhere else: that is waited for all the same.
                   if (!context_.parameters.merges_misses && !is_recalled &&
                       caches.fetches.is_pending(source.fetch)) {
                     ++totals.read_misses;
                     piece.reply_bytes += end - begin;
                     read_from_device(piece, now, cell_block);
                     return;
                   }
                   ++(source.place == SourcePlace::kIonode ? totals.read_hits : totals.read_misses);
                   if (source.place == SourcePlace::kCnode) {
                     add_forward(piece, now, source);
                     return;
                   }
                   piece.reply_bytes += end - begin;
                   if (source.place == SourcePlace::kIonode) {
                     await(piece, source.fetch);
                   } else {
                     has_missed = true;
                     add_missing(piece, now, block, cell_block);
                   }
                 });
  read_run(now, piece.file, &piece);
  send_forward(now);
  if (piece.kind == PieceKind::kRead && caches.at_ionodes() &&
      context_.parameters.ionode_cache.read_ahead > 0) {
    read_ahead(piece, now, has_missed);
  }
}

// The only valid data is in the cache of a compute node, which also writes it back then.
bool Ionode::recall(SimTime now, const IonodeBlock& block, int reader,
                    CachePolicy::Source& source) {
  Caches& caches = context_.caches;
  if (!caches.at_cnodes() ||
      context_.parameters.cnode_cache.write_hit != machine::WriteHit::kBack) {
    return false;
  }
  bool found = false;
  caches.directory.for_each_holder(block.key, [&](int cnode) {
    BlockCache::Slot& slot = *caches.cnode(cnode).find(block.key);
    if (!slot.dirty || cnode == reader) return;
    caches.cnode(cnode).set_dirty(slot, false);
    context_.clients->write_back(now, caches.node_of(cnode), block.key);
    source = {SourcePlace::kCnode, cnode, slot.fetch};
    found = true;
  });
  return found;
}

void Ionode::await(Piece& piece, uint64_t fetch) {
  if (!context_.caches.fetches.is_pending(fetch)) return;
  ++piece.device_parts;
  context_.caches.fetches.wait(fetch, piece);
}

// Blocks of one cache that follow each other go in one message.
void Ionode::add_forward(Piece& piece, SimTime now, const CachePolicy::Source& source) {
  const int from = context_.caches.node_of(source.cnode);
  ++context_.caches.ionode_totals(number_).forwarded;
  ++context_.caches.cnode_totals(context_.caches.cnode_of(piece.node)).forwarded;
  if (forward_ == nullptr || forward_->from != from || forward_->fetch != source.fetch) {
    send_forward(now);
    forward_ = new Forward;
    forward_->system = &context_;
    forward_->piece = &piece;
    forward_->from = from;
    forward_->fetch = source.fetch;
    ++piece.client_parts;
  }
  forward_->bytes += context_.parameters.block;
}

void Ionode::send_forward(SimTime now) {
  if (forward_ == nullptr) return;
  const Flight flight =
      context_.links.from_ionode(now, number_, forward_->from, context_.parameters.message_header);
  use_cpu(now, flight.send_overhead);
  forward_->transfer = flight.transfer;
  forward_->receive_overhead = flight.receive_overhead;
  context_.events.schedule(*forward_, flight.arrival);
  forward_ = nullptr;
}

// The device reads it, together with the blocks before.
void Ionode::read_from_device(Piece& piece, SimTime now, uint64_t cell_block) {
  const uint64_t bytes = context_.parameters.block;
  const uint64_t begin = cell_block * bytes;
  if (run_.bytes == 0 || run_.begin + run_.bytes != begin) {
    read_run(now, piece.file, &piece);
    run_ = {piece.range.cell, begin, 0};
  }
  run_.bytes += bytes;
}

void Ionode::add_missing(Piece& piece, SimTime now, const IonodeBlock& block, uint64_t cell_block) {
  read_from_device(piece, now, cell_block);
  const bool is_kept = context_.caches.at_ionodes() && piece.kind == PieceKind::kRead &&
                       context_.policy->keeps_what_is_read();
  if (!is_kept) return;
  if (run_fetch_ == 0) run_fetch_ = context_.caches.fetches.begin();
  keep(now, block).fetch = run_fetch_;
}

void Ionode::read_run(SimTime now, FileId file, Piece* piece) {
  use_device(now, Direction::kRead, file, run_, piece, run_fetch_);
  run_ = {};
  run_fetch_ = 0;
}

// A miss right behind the last read of the cell: what follows is read too, as far as there is
// anything, up to the first block that the cache has.
void Ionode::read_ahead(const Piece& piece, SimTime now, bool has_missed) {
  const auto file = static_cast<size_t>(piece.file);
  if (file >= sequential_.size()) sequential_.resize(file + 1);
  const Layout& layout = context_.layouts.of(piece.file);
  if (sequential_[file].empty()) sequential_[file].resize(layout.cells());
  uint64_t& last_end = sequential_[file][piece.range.cell];
  const bool is_sequential = piece.range.begin == last_end;
  last_end = piece.range.begin + piece.range.bytes;
  if (!is_sequential || !has_missed) return;

  const uint64_t block = context_.parameters.block;
  const uint64_t size = layout.cell_bytes(piece.range.cell, context_.files.size(piece.file));
  const uint64_t first = (last_end + block - 1) / block;
  for (uint64_t cell_block = first; cell_block * block < size; ++cell_block) {
    const auto count = static_cast<int>(cell_block - first);
    const uint64_t offset = layout.file_offset(piece.range.cell, cell_block * block);
    const BlockKey key = block_key(piece.file, offset / block);
    if (count == context_.parameters.ionode_cache.read_ahead ||
        context_.caches.ionode(number_).find(key) != nullptr) {
      break;
    }
    if (run_fetch_ == 0) run_fetch_ = context_.caches.fetches.begin();
    if (count == 0) run_ = {piece.range.cell, first * block, 0};
    run_.bytes += block;
    keep(now, at(key, piece.file, cell_block)).fetch = run_fetch_;
    ++context_.caches.ionode_totals(number_).read_ahead;
  }
  read_run(now, piece.file, nullptr);
}

}  // namespace sesame::storage
