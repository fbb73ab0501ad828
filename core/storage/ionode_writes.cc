// How an I/O node serves writes, evicted blocks of compute nodes' caches, and flushes.
#include <algorithm>

#include "core/storage/clients.h"
#include "core/storage/ionode.h"

namespace sesame::storage {

using machine::WriteHit;
using machine::WriteMiss;

void Ionode::write(Subrequest& subrequest, SimTime now) {
  count(Direction::kWrite, subrequest.range.bytes);
  mark_written(subrequest.file);
  subrequest.has_reply = true;
  ++subrequest.client_outstanding;
  if (!context_.caches.at_ionodes() && !context_.caches.at_cnodes()) {
    access_device(now, Direction::kWrite, subrequest.file, subrequest.range, &subrequest, 0);
    return;
  }
  run_ = {};
  for_each_block(
      context_, subrequest.file, subrequest.range,
      [&](BlockKey key, uint64_t cell_block, uint64_t begin, uint64_t end) {
        const IonodeBlock block = at(key, subrequest.file, cell_block);
        drop_other_copies(subrequest, now, block, end - begin);
        if (subrequest.fetch != 0) {
          context_.caches.register_holder(context_.caches.cnode_of(subrequest.node), key,
                                          subrequest.fetch);
        }
        const uint64_t base = cell_block * context_.parameters.block;
        const CellRange bytes{subrequest.range.cell, base + begin, end - begin};
        if (!context_.caches.at_ionodes() || write_to_cache(subrequest, now, block, bytes)) {
          if (run_.bytes == 0 || run_.begin + run_.bytes != bytes.begin) {
            access_device(now, Direction::kWrite, subrequest.file, run_, &subrequest, 0);
            run_ = {bytes.cell, bytes.begin, 0};
          }
          run_.bytes += bytes.bytes;
        }
      });
  access_device(now, Direction::kWrite, subrequest.file, run_, &subrequest, 0);
}

// Writes bytes of one block. Returns whether the device must write them now.
bool Ionode::write_to_cache(Subrequest& subrequest, SimTime now, const IonodeBlock& block,
                            const CellRange& bytes) {
  const machine::CacheParameters& parameters = context_.parameters.ionode_cache;
  BlockCache& cache = context_.caches.ionode(number_);
  CacheStatistics& totals = context_.caches.ionode_totals(number_);
  BlockCache::Slot* slot = cache.find(block.key);
  if (slot != nullptr) {
    ++totals.write_hits;
    cache.touch(*slot);
    wait_for_fetch(subrequest, slot->fetch);
  } else {
    ++totals.write_misses;
    if (parameters.write_miss == WriteMiss::kAround ||
        !context_.policy->allocates_written(context_.caches, block)) {
      return true;
    }
    slot = &insert_block(now, block);
    const uint64_t size = context_.parameters.block;
    const bool has_rest = block_of(block.key) * size < context_.files.contents_end(subrequest.file);
    if (bytes.bytes < size && has_rest) {  // the rest must be read
      slot->fetch = context_.caches.fetches.begin();
      access_device(now, Direction::kRead, subrequest.file,
                    {bytes.cell, bytes.begin / size * size, size}, &subrequest, slot->fetch);
    }
  }
  if (parameters.write_hit == WriteHit::kThrough) return true;
  cache.set_dirty(*slot, true);
  return false;
}

// A compute node writes to blocks in its own cache only (write-back): other copies become invalid.
void Ionode::invalidate_for_client_write(Subrequest& subrequest, SimTime now) {
  count(Direction::kWrite, subrequest.range.bytes);
  subrequest.has_reply = true;
  ++subrequest.client_outstanding;
  BlockCache& cache = context_.caches.ionode(number_);
  for_each_block(context_, subrequest.file, subrequest.range,
                 [&](BlockKey key, uint64_t cell_block, uint64_t, uint64_t) {
                   const IonodeBlock block = at(key, subrequest.file, cell_block);
                   drop_other_copies(subrequest, now, block, 0);
                   if (subrequest.fetch != 0) {
                     const int writer = context_.caches.cnode_of(subrequest.node);
                     context_.caches.register_holder(writer, key, subrequest.fetch);
                   }
                   BlockCache::Slot* slot = cache.find(key);
                   if (slot != nullptr && !slot->dirty) cache.erase(*slot);
                 });
}

// Invalidates the copies at other compute nodes, or sends them the `written` bytes if the coherence
// protocol updates copies. Drops the copy in the coordinated share.
void Ionode::drop_other_copies(Subrequest& subrequest, SimTime now, const IonodeBlock& block,
                               uint64_t written) {
  Caches& caches = context_.caches;
  if (!caches.at_cnodes()) return;
  const bool updates = context_.parameters.coherence == machine::Coherence::kUpdate && written > 0;
  const int writer = caches.cnode_of(subrequest.node);
  caches.directory.for_each_holder(block.key, [&](int cnode) {
    if (cnode == writer) return;
    BlockCache::Slot& slot = *caches.cnode(cnode).find(block.key);
    if (slot.dirty && !updates) context_.clients->write_back(now, caches.node_of(cnode), block.key);
    if (updates) {
      send_control(subrequest, now, cnode, written, 0);
    } else {
      ++caches.cnode_totals(cnode).invalidations;
      caches.drop_from_cnode(cnode, slot);
      send_control(subrequest, now, cnode, 0, 0);
    }
  });
  const int home = context_.policy->drop_copies(caches, block);
  if (home != Directory::kNoNode) send_control(subrequest, now, home, 0, 0);
}

// Sends a control message to a compute node. The subrequest's own reply waits for that to this
// message. Consecutive messages to one node are one message, unless they carry `bytes` or their
// replies `answer_bytes`; the reply's time is that of an empty message (docs/models/storage.md).
void Ionode::send_control(Subrequest& subrequest, SimTime now, int cnode, uint64_t bytes,
                          uint64_t answer_bytes) {
  const bool has_data = bytes + answer_bytes > 0;
  if (!has_data && last_control_to_ == cnode) return;
  if (!has_data) last_control_to_ = cnode;
  const Client holder{.node = context_.caches.node_of(cnode)};
  const uint64_t header = context_.parameters.message_header;
  subrequest.has_reply = true;
  ++subrequest.ionode_outstanding;
  use_cpu(now, context_.links.exchange(now, number_, holder, header + bytes, header, subrequest));
}

// A compute node's cache has evicted or cleaned the block.
void Ionode::store_evicted(Subrequest& subrequest, SimTime now) {
  Caches& caches = context_.caches;
  const machine::CacheParameters& parameters = context_.parameters.ionode_cache;
  const bool is_dirty = subrequest.kind == SubrequestKind::kWriteBack;
  const bool takes_victims = context_.policy->accepts_cnode_victims();
  BlockCache& cache = caches.ionode(number_);
  if (is_dirty) mark_written(subrequest.file);
  for_each_block(
      context_, subrequest.file, subrequest.range,
      [&](BlockKey key, uint64_t cell_block, uint64_t, uint64_t) {
        const IonodeBlock block = at(key, subrequest.file, cell_block);
        BlockCache::Slot* slot = cache.find(key);
        const bool allocates = caches.at_ionodes() &&
                               context_.policy->allocates_written(caches, block) &&
                               (takes_victims || parameters.write_miss == WriteMiss::kAllocate);
        if (slot == nullptr && allocates) slot = &insert_block(now, block);
        if (!is_dirty) return;
        if (slot != nullptr && parameters.write_hit == WriteHit::kBack) {
          cache.set_dirty(*slot, true);
        } else {
          access_device(now, Direction::kWrite, subrequest.file, subrequest.range, nullptr, 0);
        }
      });
}

// Inserts the block in the cache; writes the victim behind if it is dirty.
BlockCache::Slot& Ionode::insert_block(SimTime now, const IonodeBlock& block) {
  BlockCache& cache = context_.caches.ionode(number_);
  CacheStatistics& totals = context_.caches.ionode_totals(number_);
  BlockCache::Slot victim;
  BlockCache::Slot& slot = cache.insert(block.key, block.index, victim);
  if (victim.key == BlockKey{}) return slot;
  ++totals.evictions;
  if (victim.dirty) write_behind(now, victim.key);
  const IonodeBlock gone{victim.key, number_, 0};
  const int home = context_.policy->store_ionode_victim(context_.caches, gone, victim);
  if (home != Directory::kNoNode) {
    const MessageTimes message = context_.links.send_from_ionode(
        now, number_, {.node = context_.caches.node_of(home)},
        context_.parameters.message_header + context_.parameters.block, nullptr);
    use_cpu(now, message.send_overhead);
  }
  return slot;
}

// Writes an evicted dirty block together with its dirty neighbours in the stripe unit. The
// neighbours stay in the cache and become clean.
void Ionode::write_behind(SimTime now, BlockKey victim) {
  BlockCache& cache = context_.caches.ionode(number_);
  const uint64_t size = context_.parameters.block;
  const FileId file = file_of(victim);
  const Layout& layout = context_.layouts.of(file);
  const uint64_t unit = layout.unit() / size;
  const uint64_t first_of_unit = block_of(victim) / unit * unit;
  const auto make_clean = [&](uint64_t block) {
    BlockCache::Slot* slot = cache.find(block_key(file, block));
    if (slot == nullptr || !slot->dirty) return false;
    cache.set_dirty(*slot, false);
    return true;
  };
  uint64_t begin = block_of(victim);
  uint64_t end = begin + 1;
  while (begin > first_of_unit && make_clean(begin - 1)) --begin;
  while (end < first_of_unit + unit && make_clean(end)) ++end;
  context_.caches.ionode_totals(number_).written_back += end - begin;
  CellRange bytes = layout.locate(begin * size);
  bytes.bytes = (end - begin) * size;
  access_device(now, Direction::kWrite, file, bytes, nullptr, 0);
}

void Ionode::flush(Subrequest& subrequest, SimTime now) {
  subrequest.has_reply = true;
  ++subrequest.client_outstanding;
  recall_dirty(subrequest, now);
  const auto file = static_cast<size_t>(subrequest.file);
  subrequest.has_commit = file < written_.size() && written_[file];
  if (subrequest.has_commit) {
    written_[file] = false;
    subrequest.transaction = journal_.join(subrequest);
  }
  const uint64_t size = context_.parameters.block;
  BlockCache& cache = context_.caches.ionode(number_);
  const Layout& layout = context_.layouts.of(subrequest.file);
  std::vector<CellRange> blocks;
  if (cache.dirty_blocks() > 0) {
    cache.for_each([&](BlockCache::Slot& slot) {
      if (!slot.dirty || file_of(slot.key) != subrequest.file) return;
      cache.set_dirty(slot, false);
      blocks.push_back(layout.locate(block_of(slot.key) * size));
    });
  }
  context_.caches.ionode_totals(number_).written_back += blocks.size();
  std::ranges::sort(blocks, {}, [](const CellRange& at) { return std::pair(at.cell, at.begin); });
  run_ = {};
  for (const CellRange& block : blocks) {
    if (run_.bytes == 0 || run_.cell != block.cell || run_.begin + run_.bytes != block.begin) {
      access_device(now, Direction::kWrite, subrequest.file, run_, &subrequest, 0);
      run_ = {block.cell, block.begin, 0};
    }
    run_.bytes += size;
  }
  access_device(now, Direction::kWrite, subrequest.file, run_, &subrequest, 0);
  if (background_done_ < background_writes_) {
    ++subrequest.ionode_outstanding;
    flush_waits_.push_back({background_writes_, &subrequest});
  }
}

void Ionode::mark_written(FileId file) {
  const auto index = static_cast<size_t>(file);
  if (index >= written_.size()) written_.resize(index + 1);
  written_[index] = true;
}

// Writes the file's dirty blocks of all compute nodes to the device.
void Ionode::recall_dirty(Subrequest& subrequest, SimTime now) {
  Caches& caches = context_.caches;
  const Layout& layout = context_.layouts.of(subrequest.file);
  const uint64_t size = context_.parameters.block;
  for (size_t i = 0; caches.at_cnodes() && i < caches.cnodes(); ++i) {
    const auto cnode = static_cast<int>(i);
    BlockCache& cache = caches.cnode(cnode);
    uint64_t bytes = 0;
    if (cache.dirty_blocks() == 0) continue;
    cache.for_each([&](BlockCache::Slot& slot) {
      if (!slot.dirty || file_of(slot.key) != subrequest.file) return;
      CellRange range = layout.locate(block_of(slot.key) * size);
      if (layout.ionode_of(range.cell) != number_) return;
      range.bytes = size;
      cache.set_dirty(slot, false);
      ++caches.cnode_totals(cnode).written_back;
      mark_written(subrequest.file);
      access_device(now, Direction::kWrite, subrequest.file, range, &subrequest, 0);
      bytes += size;
    });
    if (bytes > 0) send_control(subrequest, now, cnode, 0, bytes);
  }
}

}  // namespace sesame::storage
