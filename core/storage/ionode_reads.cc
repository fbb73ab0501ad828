// How an I/O node serves reads.
#include <algorithm>

#include "core/storage/clients.h"
#include "core/storage/ionode.h"

namespace sesame::storage {

using SourceKind = CachePolicy::Source::Kind;

void Forward::fire() {
  if (has_reached_source) {
    Subrequest& waiting = *subrequest;
    const SimTime now = time();
    const SimTime taking = transfer;
    const SimTime overhead = receive_overhead;
    Clients& clients = *system->clients;
    delete this;
    clients.receive_reply(waiting, now, taking, overhead);
    return;
  }
  has_reached_source = true;
  const machine::CacheParameters& cache = system->parameters.cnode_cache;
  const SimTime taken = system->links.receive_at_node(time(), from, transfer);
  ready = taken + receive_overhead + cache.hit_time + copy_time(cache, bytes, Direction::kRead);
  if (system->caches.fetches.is_pending(fetch)) {
    system->caches.fetches.wait(fetch, *this);
  } else {
    done(ready);
  }
}

void Forward::done(SimTime at) {
  const MessageTimes message = system->links.send_between_cnodes(
      later(at, ready), from, subrequest->node, system->parameters.message_header + bytes, *this);
  transfer = message.transfer;
  receive_overhead = message.receive_overhead;
}

void Ionode::read(Subrequest& subrequest, SimTime now) {
  count(Direction::kRead, subrequest.range.bytes);
  if (context_.caches.at_ionodes() || context_.caches.at_cnodes()) {
    read_blocks(subrequest, now);
  } else {
    subrequest.reply_bytes = subrequest.range.bytes;
    access_device(now, Direction::kRead, subrequest.file, subrequest.range, &subrequest, 0);
  }
  if (subrequest.reply_bytes > 0) subrequest.has_reply = true;
  if (subrequest.has_reply) ++subrequest.client_outstanding;
}

void Ionode::read_blocks(Subrequest& subrequest, SimTime now) {
  Caches& caches = context_.caches;
  CacheStatistics& totals = caches.ionode_totals(number_);
  const int reader = caches.at_cnodes() ? caches.cnode_of(subrequest.node) : Directory::kNoNode;
  const bool is_to_write = subrequest.kind == SubrequestKind::kReadToWrite;
  bool has_missed = false;
  run_ = {};
  for_each_block(context_, subrequest.file, subrequest.range,
                 [&](BlockKey key, uint64_t cell_block, uint64_t begin, uint64_t end) {
                   const IonodeBlock block = at(key, subrequest.file, cell_block);
                   CachePolicy::Source dirty;
                   const bool is_recalled = recall(now, block, reader, dirty);
                   CachePolicy::Source source = context_.policy->find(caches, block, reader);
                   if (is_recalled) source = dirty;
                   if (is_to_write) drop_other_copies(subrequest, now, block, 0);
                   if (subrequest.fetch != 0) caches.register_holder(reader, key, subrequest.fetch);
                   // A dirty block has no other valid copy, so its fetch is always waited for.
                   if (!context_.parameters.merges_misses && !is_recalled &&
                       caches.fetches.is_pending(source.fetch)) {
                     ++totals.read_misses;
                     subrequest.reply_bytes += end - begin;
                     read_from_device(subrequest, now, cell_block);
                     return;
                   }
                   ++(source.kind == SourceKind::kIonode ? totals.read_hits : totals.read_misses);
                   if (source.kind == SourceKind::kCnode) {
                     add_forward(subrequest, now, source);
                     return;
                   }
                   subrequest.reply_bytes += end - begin;
                   if (source.kind == SourceKind::kIonode) {
                     wait_for_fetch(subrequest, source.fetch);
                   } else {
                     has_missed = true;
                     add_miss(subrequest, now, block, cell_block);
                   }
                 });
  submit_read_run(now, subrequest.file, &subrequest);
  send_forward(now);
  if (subrequest.kind == SubrequestKind::kRead && caches.at_ionodes() &&
      context_.parameters.ionode_cache.read_ahead > 0) {
    read_ahead(subrequest, now, has_missed);
  }
}

// Finds a dirty copy of the block at a compute node, the only valid one, and makes that node write
// it back.
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
    source = {SourceKind::kCnode, cnode, slot.fetch};
    found = true;
  });
  return found;
}

void Ionode::wait_for_fetch(Subrequest& subrequest, uint64_t fetch) {
  if (!context_.caches.fetches.is_pending(fetch)) return;
  ++subrequest.ionode_outstanding;
  context_.caches.fetches.wait(fetch, subrequest);
}

// Consecutive blocks of one cache are sent in one message.
void Ionode::add_forward(Subrequest& subrequest, SimTime now, const CachePolicy::Source& source) {
  const int from = context_.caches.node_of(source.cnode);
  ++context_.caches.ionode_totals(number_).forwarded;
  ++context_.caches.cnode_totals(context_.caches.cnode_of(subrequest.node)).forwarded;
  if (forward_ == nullptr || forward_->from != from || forward_->fetch != source.fetch) {
    send_forward(now);
    forward_ = new Forward;
    forward_->system = &context_;
    forward_->subrequest = &subrequest;
    forward_->from = from;
    forward_->fetch = source.fetch;
    ++subrequest.client_outstanding;
  }
  forward_->bytes += context_.parameters.block;
}

void Ionode::send_forward(SimTime now) {
  if (forward_ == nullptr) return;
  const MessageTimes message = context_.links.send_from_ionode(
      now, number_, {.node = forward_->from}, context_.parameters.message_header, forward_);
  use_cpu(now, message.send_overhead);
  forward_->transfer = message.transfer;
  forward_->receive_overhead = message.receive_overhead;
  forward_ = nullptr;
}

// Adds the block to the run that the device will read.
void Ionode::read_from_device(Subrequest& subrequest, SimTime now, uint64_t cell_block) {
  const uint64_t bytes = context_.parameters.block;
  const uint64_t begin = cell_block * bytes;
  if (run_.bytes == 0 || run_.begin + run_.bytes != begin) {
    submit_read_run(now, subrequest.file, &subrequest);
    run_ = {subrequest.range.cell, begin, 0};
  }
  run_.bytes += bytes;
}

void Ionode::add_miss(Subrequest& subrequest, SimTime now, const IonodeBlock& block,
                      uint64_t cell_block) {
  read_from_device(subrequest, now, cell_block);
  const bool is_kept = context_.caches.at_ionodes() && subrequest.kind == SubrequestKind::kRead &&
                       context_.policy->caches_reads();
  if (!is_kept) return;
  if (run_fetch_ == 0) run_fetch_ = context_.caches.fetches.begin();
  insert_block(now, block).fetch = run_fetch_;
}

void Ionode::submit_read_run(SimTime now, FileId file, Subrequest* subrequest) {
  access_device(now, Direction::kRead, file, run_, subrequest, run_fetch_);
  run_ = {};
  run_fetch_ = 0;
}

// Reads ahead after a miss that continues the last read of the cell: up to the end of the file, the
// first cached block, or the configured number of blocks.
void Ionode::read_ahead(const Subrequest& subrequest, SimTime now, bool has_missed) {
  const auto file = static_cast<size_t>(subrequest.file);
  if (file >= sequential_.size()) sequential_.resize(file + 1);
  const Layout& layout = context_.layouts.of(subrequest.file);
  if (sequential_[file].empty()) sequential_[file].resize(layout.cells());
  uint64_t& last_end = sequential_[file][subrequest.range.cell];
  const bool is_sequential = subrequest.range.begin == last_end;
  last_end = subrequest.range.begin + subrequest.range.bytes;
  if (!is_sequential || !has_missed) return;

  const uint64_t block = context_.parameters.block;
  const uint64_t size =
      layout.cell_bytes(subrequest.range.cell, context_.files.size(subrequest.file));
  const uint64_t first = (last_end + block - 1) / block;
  for (uint64_t cell_block = first; cell_block * block < size; ++cell_block) {
    const auto count = static_cast<int>(cell_block - first);
    const uint64_t offset = layout.file_offset(subrequest.range.cell, cell_block * block);
    const BlockKey key = block_key(subrequest.file, offset / block);
    if (count == context_.parameters.ionode_cache.read_ahead ||
        context_.caches.ionode(number_).find(key) != nullptr) {
      break;
    }
    if (run_fetch_ == 0) run_fetch_ = context_.caches.fetches.begin();
    if (count == 0) run_ = {subrequest.range.cell, first * block, 0};
    run_.bytes += block;
    insert_block(now, at(key, subrequest.file, cell_block)).fetch = run_fetch_;
    ++context_.caches.ionode_totals(number_).read_ahead;
  }
  submit_read_run(now, subrequest.file, nullptr);
}

}  // namespace sesame::storage
