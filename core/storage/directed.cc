#include "core/storage/directed.h"

#include <algorithm>
#include <array>

#include "core/storage/clients.h"
#include "core/storage/ionode.h"

namespace sesame::storage {
namespace {

// The size of a buffer is a stripe unit, but at most this (our choice; Kotz's buffers were blocks
// of 8 KiB).
constexpr uint64_t kLargestBuffer = 1 << 20;

// A range of one device that one rank accesses.
struct RankRange {
  uint64_t address;  // on the device
  uint64_t bytes;
  Client client;
};

struct CollectiveAccess;

// One I/O node's share of a collective access.
struct IonodeShare final : pdes::ConditionalEvent {
  // Holds the data of adjacent ranges in flight.
  struct Buffer final : Completion {
    void done(SimTime at) override {
      if (awaited == 0) return share->device_done(at, *this);
      if (--awaited == 0) share->access_device(at, *this);
    }
    size_t awaited = 0;  // ranks whose data is to come
    IonodeShare* share = nullptr;
    size_t first = 0;  // the ranges from here up to `end`
    size_t end = 0;
    uint64_t address = 0;
    uint64_t bytes = 0;
  };

  void fire() override;
  void begin(SimTime now);
  void resume(SimTime now, Buffer& buffer);
  void fetch_from_ranks(SimTime now, Buffer& buffer);
  void access_device(SimTime now, Buffer& buffer);
  void device_done(SimTime now, Buffer& buffer);
  void send_to_ranks(SimTime now, const Buffer& buffer);

  CollectiveAccess* collective = nullptr;
  Ionode* ionode = nullptr;
  std::vector<RankRange> ranges;  // by address
  size_t next = 0;
  MessageTimes start_message;  // the message that started it
  enum class State : uint8_t { kLeaving, kToIonode, kAtCpu } state = State::kLeaving;
  std::array<Buffer, 2> buffers;
};

// What a write makes obsolete in caches.
struct WrittenRange {
  FileId file;
  CellRange range;
  uint32_t ionode = 0;
};

// Data that a rank has read, on its way.
struct Delivery final : pdes::ConditionalEvent, Pooled<Delivery> {
  void fire() override;
  CollectiveAccess* collective = nullptr;
  int node = 0;
  MessageTimes message;
};

struct CollectiveAccess final : pdes::ConditionalEvent, Completion {
  void fire() override;            // everything is complete
  void done(SimTime at) override;  // dirty blocks of one file are on the devices
  void add(const Access& access);
  void flush_files(SimTime now);
  void drop_copies();
  void start_ionodes(SimTime now);
  void complete_one(SimTime at);

  FileSystemContext* context = nullptr;
  Completion* completion = nullptr;
  SimTime start;
  SimTime end;
  Direction direction{};
  Client client;              // the rank that sends the lists to the I/O nodes
  std::vector<FileId> files;  // by access
  std::vector<WrittenRange> written;
  std::vector<std::unique_ptr<IonodeShare>> shares;  // by I/O node
  size_t outstanding = 0;
  uint64_t buffer_bytes = 0;
};

void CollectiveAccess::add(const Access& access) {
  context->files.count(access);
  files.push_back(access.file);
  const Layout& layout = context->layouts.of(access.file);
  const uint64_t block = context->parameters.block;
  for (const Extent& extent : access.extents) {
    layout.cut(extent, [&](const CellRange& range) {
      const uint32_t ionode = layout.ionode_of(range.cell);
      IonodeShare& share = *shares[ionode];
      const uint64_t range_end = range.begin + range.bytes;
      for (uint64_t at = range.begin; at < range_end;) {
        const Allocation::Run found = context->space.find(access.file, range.cell, at / block);
        const uint64_t skipped = at % block;
        const uint64_t bytes =
            std::min({range_end - at, found.blocks * block - skipped, buffer_bytes});
        share.ranges.push_back({found.address * block + skipped, bytes, access.client});
        at += bytes;
      }
      if (direction == Direction::kWrite) written.push_back({access.file, range, ionode});
    });
  }
}

// Dropping a dirty block would lose its data, so the files are flushed before.
void CollectiveAccess::flush_files(SimTime now) {
  std::vector<FileId> distinct = files;
  std::ranges::sort(distinct);
  const auto repeated = std::ranges::unique(distinct);
  distinct.erase(repeated.begin(), repeated.end());
  outstanding = distinct.size();
  for (const FileId file : distinct) context->clients->flush(now, file, client, *this);
}

void CollectiveAccess::done(SimTime at) {
  if (--outstanding == 0) start_ionodes(at);
}

void CollectiveAccess::drop_copies() {
  Caches& caches = context->caches;
  if (!caches.at_cnodes() && !caches.at_ionodes()) return;
  for (const auto& [file, range, ionode] : written) {
    BlockCache* const at_ionode[] = {&caches.ionode(ionode), &caches.coordinated(ionode)};
    for_each_block(*context, file, range, [&](BlockKey key, uint64_t, uint64_t, uint64_t) {
      caches.directory.for_each_holder(
          key, [&](int cnode) { caches.drop_from_cnode(cnode, *caches.cnode(cnode).find(key)); });
      for (BlockCache* cache : at_ionode)
        if (BlockCache::Slot* slot = cache->find(key)) cache->erase(*slot);
    });
  }
}

void CollectiveAccess::start_ionodes(SimTime now) {
  drop_copies();
  SimTime ready = now + context->parameters.client_overhead;
  outstanding = 1;
  for (auto& share : shares) {
    if (share->ranges.empty()) continue;
    ++outstanding;
    std::ranges::stable_sort(share->ranges, {}, &RankRange::address);
    const auto [at, send_overhead] = context->links.departure(
        ready, client.node, share->ionode->number(), context->parameters.message_header);
    ready += send_overhead;
    context->events.schedule(*share, at);
  }
  complete_one(ready);
}

void CollectiveAccess::complete_one(SimTime at) {
  end = later(end, at);
  if (--outstanding == 0) context->events.schedule(*this, end);
}

void CollectiveAccess::fire() {
  for (const FileId file : files) {
    FileStatistics& totals = context->files.totals(file);
    (direction == Direction::kRead ? totals.read_time : totals.write_time) += end - start;
  }
  Completion& waiter = *completion;
  const SimTime at = end;
  delete this;
  waiter.done(at);
}

void Delivery::fire() {
  CollectiveAccess& access = *collective;
  const SimTime taken = access.context->links.receive_at_node(time(), node, message.transfer);
  const SimTime end = taken + message.receive_overhead;
  delete this;
  access.complete_one(end);
}

void IonodeShare::fire() {
  const SimTime now = time();
  FileSystemContext& context = *collective->context;
  switch (state) {
    case State::kLeaving:
      state = State::kToIonode;
      start_message = context.links.send_to_ionode(now, collective->client, ionode->number(),
                                                   context.parameters.message_header, *this);
      return;
    case State::kToIonode: {
      const SimTime taken =
          context.links.receive_at_ionode(now, ionode->number(), start_message.transfer);
      const SimTime cpu = start_message.receive_overhead + context.parameters.server_overhead;
      state = State::kAtCpu;
      return context.events.schedule(*this, ionode->use_cpu(taken, cpu));
    }
    case State::kAtCpu:
      begin(now);
  }
}

void IonodeShare::begin(SimTime now) {
  uint64_t bytes = 0;
  for (const RankRange& range_of_rank : ranges) bytes += range_of_rank.bytes;
  ionode->count(collective->direction, bytes);
  collective->outstanding += buffers.size() - 1;
  for (Buffer& buffer : buffers) {
    buffer.share = this;
    resume(now, buffer);
  }
}

// Assigns the next ranges to the buffer, as long as they are adjacent and fit.
void IonodeShare::resume(SimTime now, Buffer& buffer) {
  if (next == ranges.size()) {
    collective->complete_one(now);
    return;
  }
  buffer.first = next;
  buffer.address = ranges[next].address;
  const uint64_t limit = buffer.address + collective->buffer_bytes;
  uint64_t end = buffer.address;
  do {
    end = std::max(end, ranges[next].address + ranges[next].bytes);
    ++next;
  } while (next < ranges.size() && ranges[next].address <= end &&
           ranges[next].address + ranges[next].bytes <= limit);
  buffer.end = next;
  buffer.bytes = end - buffer.address;
  if (collective->direction == Direction::kRead) {
    access_device(now, buffer);
  } else {
    fetch_from_ranks(now, buffer);
  }
}

// Asks each rank for its data. The buffer is full when the last data has arrived.
void IonodeShare::fetch_from_ranks(SimTime now, Buffer& buffer) {
  FileSystemContext& context = *collective->context;
  const uint64_t header = context.parameters.message_header;
  buffer.awaited = buffer.end - buffer.first;
  for (size_t i = buffer.first; i < buffer.end; ++i) {
    const RankRange& range_of_rank = ranges[i];
    ionode->use_cpu(now, context.links.exchange(now, ionode->number(), range_of_rank.client, header,
                                                header + range_of_rank.bytes, buffer));
  }
}

void IonodeShare::access_device(SimTime now, Buffer& buffer) {
  ionode->submit(now, {collective->direction, buffer.address, buffer.bytes, &buffer});
}

void IonodeShare::device_done(SimTime now, Buffer& buffer) {
  ionode->record_device_time(now);
  if (collective->direction == Direction::kRead) send_to_ranks(now, buffer);
  resume(now, buffer);
}

void IonodeShare::send_to_ranks(SimTime now, const Buffer& buffer) {
  FileSystemContext& context = *collective->context;
  for (size_t i = buffer.first; i < buffer.end; ++i) {
    const RankRange& range_of_rank = ranges[i];
    auto* delivery = new Delivery;
    delivery->collective = collective;
    delivery->node = range_of_rank.client.node;
    delivery->message = context.links.send_from_ionode(
        now, ionode->number(), range_of_rank.client,
        context.parameters.message_header + range_of_rank.bytes, delivery);
    ionode->use_cpu(now, delivery->message.send_overhead);
    ++collective->outstanding;
  }
}

}  // namespace

void Directed::begin(SimTime now, std::span<const Access> accesses, Completion& completion) {
  auto* collective = new CollectiveAccess;
  collective->context = &context_;
  collective->completion = &completion;
  collective->start = collective->end = now;
  for (auto& ionode : context_.ionodes) {
    collective->shares.push_back(std::make_unique<IonodeShare>());
    collective->shares.back()->collective = collective;
    collective->shares.back()->ionode = ionode.get();
  }
  if (!accesses.empty()) {
    collective->direction = accesses.front().direction;
    collective->client = accesses.front().client;
    const uint64_t stripe = context_.layouts.of(accesses.front().file).unit();
    collective->buffer_bytes = std::min<uint64_t>(stripe, kLargestBuffer);
  }
  for (const Access& access : accesses) collective->add(access);
  const bool may_be_dirty = context_.parameters.cnode_cache.write_hit == machine::WriteHit::kBack ||
                            context_.parameters.ionode_cache.write_hit == machine::WriteHit::kBack;
  if (may_be_dirty && !accesses.empty()) {
    collective->flush_files(now);
  } else {
    collective->start_ionodes(now);
  }
}

}  // namespace sesame::storage
