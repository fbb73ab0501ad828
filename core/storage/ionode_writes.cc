// What an I/O node does with writes, with what compute nodes' caches give up, and with flushes.
#include <algorithm>

#include "core/storage/clients.h"
#include "core/storage/ionode.h"

namespace sesame::storage {

using machine::WriteHit;
using machine::WriteMiss;

void Ionode::write(Piece& piece, SimTime now) {
  count(Direction::kWrite, piece.range.bytes);
  note_written(piece.file);
  piece.has_reply = true;
  ++piece.client_parts;
  if (!context_.caches.at_ionodes() && !context_.caches.at_cnodes()) {
    use_device(now, Direction::kWrite, piece.file, piece.range, &piece, 0);
    return;
  }
  run_ = {};
  for_each_block(context_, piece.file, piece.range,
                 [&](BlockKey key, uint64_t cell_block, uint64_t begin, uint64_t end) {
                   const IonodeBlock block = at(key, piece.file, cell_block);
                   drop_other_copies(piece, now, block, end - begin);
                   if (piece.fetch != 0) {
                     context_.caches.register_holder(context_.caches.cnode_of(piece.node), key,
                                                     piece.fetch);
                   }
                   const uint64_t base = cell_block * context_.parameters.block;
                   const CellRange bytes{piece.range.cell, base + begin, end - begin};
                   if (!context_.caches.at_ionodes() || write_to_cache(piece, now, block, bytes)) {
                     if (run_.bytes == 0 || run_.begin + run_.bytes != bytes.begin) {
                       use_device(now, Direction::kWrite, piece.file, run_, &piece, 0);
                       run_ = {bytes.cell, bytes.begin, 0};
                     }
                     run_.bytes += bytes.bytes;
                   }
                 });
  use_device(now, Direction::kWrite, piece.file, run_, &piece, 0);
}

// Bytes of one block. Whether the device has to write them now.
bool Ionode::write_to_cache(Piece& piece, SimTime now, const IonodeBlock& block,
                            const CellRange& bytes) {
  const machine::CacheParameters& parameters = context_.parameters.ionode_cache;
  BlockCache& cache = context_.caches.ionode(number_);
  CacheStatistics& totals = context_.caches.ionode_totals(number_);
  BlockCache::Slot* slot = cache.find(block.key);
  if (slot != nullptr) {
    ++totals.write_hits;
    cache.touch(*slot);
    await(piece, slot->fetch);
  } else {
    ++totals.write_misses;
    if (parameters.write_miss == WriteMiss::kAround ||
        !context_.policy->allocates_written(context_.caches, block)) {
      return true;
    }
    slot = &keep(now, block);
    const uint64_t size = context_.parameters.block;
    const bool has_rest = block_of(block.key) * size < context_.files.contents_end(piece.file);
    if (bytes.bytes < size && has_rest) {  // it has to be read
      slot->fetch = context_.caches.fetches.begin();
      use_device(now, Direction::kRead, piece.file, {bytes.cell, bytes.begin / size * size, size},
                 &piece, slot->fetch);
    }
  }
  if (parameters.write_hit == WriteHit::kThrough) return true;
  cache.set_dirty(*slot, true);
  return false;
}

// A compute node writes to blocks in its cache, and for now only there.
void Ionode::invalidate_for_client_write(Piece& piece, SimTime now) {
  count(Direction::kWrite, piece.range.bytes);
  piece.has_reply = true;
  ++piece.client_parts;
  BlockCache& cache = context_.caches.ionode(number_);
  for_each_block(context_, piece.file, piece.range,
                 [&](BlockKey key, uint64_t cell_block, uint64_t, uint64_t) {
                   const IonodeBlock block = at(key, piece.file, cell_block);
                   drop_other_copies(piece, now, block, 0);
                   if (piece.fetch != 0) {
                     const int writer = context_.caches.cnode_of(piece.node);
                     context_.caches.register_holder(writer, key, piece.fetch);
                   }
                   BlockCache::Slot* slot = cache.find(key);
                   if (slot != nullptr && !slot->dirty) cache.erase(*slot);
                 });
}

// Copies at other compute nodes become invalid, or take the `written` bytes over where caches are
// updated. Copies that only their I/O node manages are dropped.
void Ionode::drop_other_copies(Piece& piece, SimTime now, const IonodeBlock& block,
                               uint64_t written) {
  Caches& caches = context_.caches;
  if (!caches.at_cnodes()) return;
  const bool updates = context_.parameters.coherence == machine::Coherence::kUpdate && written > 0;
  const int writer = caches.cnode_of(piece.node);
  caches.directory.for_each_holder(block.key, [&](int cnode) {
    if (cnode == writer) return;
    BlockCache::Slot& slot = *caches.cnode(cnode).find(block.key);
    if (slot.dirty && !updates) context_.clients->write_back(now, caches.node_of(cnode), block.key);
    if (updates) {
      send_control(piece, now, cnode, written, 0);
    } else {
      ++caches.cnode_totals(cnode).invalidations;
      caches.drop_from_cnode(cnode, slot);
      send_control(piece, now, cnode, 0, 0);
    }
  });
  const int home = context_.policy->drop_copies(caches, block);
  if (home != Directory::kNobody) send_control(piece, now, home, 0, 0);
}

// A control message to a compute node and its reply; the piece is not done before. Messages about
// consecutive blocks that carry no data are one.
void Ionode::send_control(Piece& piece, SimTime now, int cnode, uint64_t bytes,
                          uint64_t answer_bytes) {
  const bool has_data = bytes + answer_bytes > 0;
  if (!has_data && last_control_to_ == cnode) return;
  if (!has_data) last_control_to_ = cnode;
  const int node = context_.caches.node_of(cnode);
  const uint64_t header = context_.parameters.message_header;
  const Flight there = context_.links.from_ionode(now, number_, node, header + bytes);
  const Flight back = context_.links.answer(there.arrival + there.receive_overhead, {.node = node},
                                            number_, header);
  use_cpu(now, there.send_overhead + back.receive_overhead);
  piece.not_before = later(piece.not_before, back.arrival + back.receive_overhead);
}

// A compute node's cache has no room for the block any more.
void Ionode::take_back(Piece& piece, SimTime now) {
  Caches& caches = context_.caches;
  const machine::CacheParameters& parameters = context_.parameters.ionode_cache;
  const bool is_dirty = piece.kind == PieceKind::kWriteBack;
  const bool takes_victims = context_.policy->takes_cnode_victims();
  BlockCache& cache = caches.ionode(number_);
  if (is_dirty) note_written(piece.file);
  for_each_block(context_, piece.file, piece.range,
                 [&](BlockKey key, uint64_t cell_block, uint64_t, uint64_t) {
                   const IonodeBlock block = at(key, piece.file, cell_block);
                   BlockCache::Slot* slot = cache.find(key);
                   const bool allocates =
                       caches.at_ionodes() && context_.policy->allocates_written(caches, block) &&
                       (takes_victims || parameters.write_miss == WriteMiss::kAllocate);
                   if (slot == nullptr && allocates) slot = &keep(now, block);
                   if (!is_dirty) return;
                   if (slot != nullptr && parameters.write_hit == WriteHit::kBack) {
                     cache.set_dirty(*slot, true);
                   } else {
                     use_device(now, Direction::kWrite, piece.file, piece.range, nullptr, 0);
                   }
                 });
}

// Makes room in the cache and puts the block there.
BlockCache::Slot& Ionode::keep(SimTime now, const IonodeBlock& block) {
  BlockCache& cache = context_.caches.ionode(number_);
  CacheStatistics& totals = context_.caches.ionode_totals(number_);
  BlockCache::Slot victim;
  BlockCache::Slot& slot = cache.insert(block.key, block.index, victim);
  if (victim.key == BlockKey{}) return slot;
  ++totals.evictions;
  if (victim.dirty) write_behind(now, victim.key);
  const IonodeBlock gone{victim.key, number_, 0};
  const int home = context_.policy->take_ionode_victim(context_.caches, gone, victim);
  if (home != Directory::kNobody) {
    const Flight flight =
        context_.links.from_ionode(now, number_, context_.caches.node_of(home),
                                   context_.parameters.message_header + context_.parameters.block);
    use_cpu(now, flight.send_overhead);
  }
  return slot;
}

// A dirty block had to go: it is written together with its dirty neighbours in the stripe, which
// stay and are clean then.
void Ionode::write_behind(SimTime now, BlockKey victim) {
  BlockCache& cache = context_.caches.ionode(number_);
  const uint64_t size = context_.parameters.block;
  const FileId file = file_of(victim);
  const Layout& layout = context_.layouts.of(file);
  const uint64_t unit = layout.unit() / size;
  const uint64_t first_of_unit = block_of(victim) / unit * unit;
  const auto clean = [&](uint64_t block) {
    BlockCache::Slot* slot = cache.find(block_key(file, block));
    if (slot == nullptr || !slot->dirty) return false;
    cache.set_dirty(*slot, false);
    return true;
  };
  uint64_t begin = block_of(victim);
  uint64_t end = begin + 1;
  while (begin > first_of_unit && clean(begin - 1)) --begin;
  while (end < first_of_unit + unit && clean(end)) ++end;
  context_.caches.ionode_totals(number_).written_back += end - begin;
  CellRange bytes = layout.locate(begin * size);
  bytes.bytes = (end - begin) * size;
  use_device(now, Direction::kWrite, file, bytes, nullptr, 0);
}

void Ionode::flush(Piece& piece, SimTime now) {
  piece.has_reply = true;
  ++piece.client_parts;
  recall_dirty(piece, now);
  const auto file = static_cast<size_t>(piece.file);
  piece.has_commit = file < written_.size() && written_[file];
  if (piece.has_commit) {
    written_[file] = false;
    piece.transaction = journal_.join(piece);
  }
  const uint64_t size = context_.parameters.block;
  BlockCache& cache = context_.caches.ionode(number_);
  const Layout& layout = context_.layouts.of(piece.file);
  std::vector<CellRange> blocks;
  if (cache.dirty_blocks() > 0) {
    cache.for_each([&](BlockCache::Slot& slot) {
      if (!slot.dirty || file_of(slot.key) != piece.file) return;
      cache.set_dirty(slot, false);
      blocks.push_back(layout.locate(block_of(slot.key) * size));
    });
  }
  context_.caches.ionode_totals(number_).written_back += blocks.size();
  std::ranges::sort(blocks, {}, [](const CellRange& at) { return std::pair(at.cell, at.begin); });
  run_ = {};
  for (const CellRange& block : blocks) {
    if (run_.bytes == 0 || run_.cell != block.cell || run_.begin + run_.bytes != block.begin) {
      use_device(now, Direction::kWrite, piece.file, run_, &piece, 0);
      run_ = {block.cell, block.begin, 0};
    }
    run_.bytes += size;
  }
  use_device(now, Direction::kWrite, piece.file, run_, &piece, 0);
  if (background_done_ < background_writes_) {
    ++piece.device_parts;
    flush_waits_.push_back({background_writes_, &piece});
  }
}

void Ionode::note_written(FileId file) {
  const auto index = static_cast<size_t>(file);
  if (index >= written_.size()) written_.resize(index + 1);
  written_[index] = true;
}

// Dirty blocks of compute nodes come to the device.
void Ionode::recall_dirty(Piece& piece, SimTime now) {
  Caches& caches = context_.caches;
  const Layout& layout = context_.layouts.of(piece.file);
  const uint64_t size = context_.parameters.block;
  for (size_t i = 0; caches.at_cnodes() && i < caches.cnodes(); ++i) {
    const auto cnode = static_cast<int>(i);
    BlockCache& cache = caches.cnode(cnode);
    uint64_t bytes = 0;
    if (cache.dirty_blocks() == 0) continue;
    cache.for_each([&](BlockCache::Slot& slot) {
      if (!slot.dirty || file_of(slot.key) != piece.file) return;
      CellRange range = layout.locate(block_of(slot.key) * size);
      if (layout.ionode_of(range.cell) != number_) return;
      range.bytes = size;
      cache.set_dirty(slot, false);
      ++caches.cnode_totals(cnode).written_back;
      note_written(piece.file);
      use_device(now, Direction::kWrite, piece.file, range, &piece, 0);
      bytes += size;
    });
    if (bytes > 0) send_control(piece, now, cnode, 0, bytes);
  }
}

}  // namespace sesame::storage
