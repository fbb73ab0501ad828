#include "core/storage/directed.h"

#include <algorithm>
#include <array>

#include "core/storage/clients.h"
#include "core/storage/ionode.h"

namespace sesame::storage {
namespace {

// A buffer holds a stripe, but no more than this (our choice; Kotz's held a block of 8 KiB).
constexpr uint64_t kLargestBuffer = 1 << 20;

// What one rank wants of one device.
struct Item {
  uint64_t address;  // on the device
  uint64_t bytes;
  Client client;
};

struct Collective;

// One I/O node's share of a collective access.
struct Share final : pdes::ConditionalEvent {
  // Holds neighbouring items on their way.
  struct Buffer final : pdes::ConditionalEvent, Completion {
    void fire() override { share->use_device(time(), *this); }  // the ranks' data is here
    void done(SimTime at) override { share->device_done(at, *this); }
    Share* share = nullptr;
    size_t first = 0;  // items
    size_t end = 0;
    uint64_t address = 0;
    uint64_t bytes = 0;
  };

  void fire() override;
  void begin(SimTime now);
  void resume(SimTime now, Buffer& buffer);
  void fetch_from_ranks(SimTime now, Buffer& buffer);
  void use_device(SimTime now, Buffer& buffer);
  void device_done(SimTime now, Buffer& buffer);

  Collective* collective = nullptr;
  Ionode* ionode = nullptr;
  std::vector<Item> items;  // by address
  size_t next = 0;
  Flight order;  // the message that starts it
  enum class State : uint8_t { kLeaving, kToIonode, kAtCpu } state = State::kLeaving;
  std::array<Buffer, 2> buffers;
};

struct Collective final : pdes::ConditionalEvent, Completion {
  void fire() override;                                // all is done
  void done(SimTime at) override { send_orders(at); }  // what was dirty is on the devices
  void send_orders(SimTime now);
  void part_done(SimTime at);
  void add(const Access& access);
  void drop_copies(FileId file, const CellRange& range, uint32_t ionode);

  FileSystemContext* context = nullptr;
  Completion* completion = nullptr;
  SimTime began;
  SimTime end;
  Direction direction{};
  Client client;                               // who tells the I/O nodes
  std::vector<FileId> files;                   // by access
  std::vector<std::unique_ptr<Share>> shares;  // by I/O node
  size_t under_way = 0;
  uint64_t buffer_bytes = 0;
};

void Collective::add(const Access& access) {
  context->files.count(access);
  files.push_back(access.file);
  const Layout& layout = context->layouts.of(access.file);
  const uint64_t block = context->parameters.block;
  for (const Extent& extent : access.extents) {
    layout.cut(extent, [&](const CellRange& range) {
      const uint32_t ionode = layout.ionode_of(range.cell);
      Share& share = *shares[ionode];
      const uint64_t range_end = range.begin + range.bytes;
      for (uint64_t at = range.begin; at < range_end;) {
        const Allocation::Run found = context->space.find(access.file, range.cell, at / block);
        const uint64_t skipped = at % block;
        const uint64_t bytes =
            std::min({range_end - at, found.blocks * block - skipped, buffer_bytes});
        share.items.push_back({found.address * block + skipped, bytes, access.client});
        at += bytes;
      }
      if (direction == Direction::kWrite) drop_copies(access.file, range, ionode);
    });
  }
}

void Collective::drop_copies(FileId file, const CellRange& range, uint32_t ionode) {
  Caches& caches = context->caches;
  if (!caches.at_cnodes() && !caches.at_ionodes()) return;
  for_each_block(*context, file, range, [&](BlockKey key, uint64_t, uint64_t, uint64_t) {
    caches.directory.for_each_holder(
        key, [&](int cnode) { caches.drop_from_cnode(cnode, *caches.cnode(cnode).find(key)); });
    for (BlockCache* cache : {&caches.ionode(ionode), &caches.coordinated(ionode)})
      if (BlockCache::Slot* slot = cache->find(key)) cache->erase(*slot);
  });
}

void Collective::send_orders(SimTime now) {
  SimTime ready = now + context->parameters.client_overhead;
  under_way = 1;
  for (auto& share : shares) {
    if (share->items.empty()) continue;
    ++under_way;
    std::ranges::stable_sort(share->items, {}, &Item::address);
    const auto [at, send_overhead] = context->links.departure(
        ready, client.node, share->ionode->number(), context->parameters.message_header);
    ready += send_overhead;
    context->events.schedule(*share, at);
  }
  part_done(ready);
}

void Collective::part_done(SimTime at) {
  end = later(end, at);
  if (--under_way == 0) context->events.schedule(*this, end);
}

void Collective::fire() {
  for (const FileId file : files) {
    FileStatistics& totals = context->files.totals(file);
    (direction == Direction::kRead ? totals.read_time : totals.write_time) += end - began;
  }
  Completion& told = *completion;
  const SimTime at = end;
  delete this;
  told.done(at);
}

void Share::fire() {
  const SimTime now = time();
  FileSystemContext& context = *collective->context;
  switch (state) {
    case State::kLeaving:
      order = context.links.leave(now, collective->client, ionode->number(),
                                  context.parameters.message_header);
      state = State::kToIonode;
      return context.events.schedule(*this, order.arrival);
    case State::kToIonode: {
      const SimTime taken = context.links.take_in_at_ionode(now, ionode->number(), order.transfer);
      const SimTime cpu = order.receive_overhead + context.parameters.server_overhead;
      state = State::kAtCpu;
      return context.events.schedule(*this, ionode->use_cpu(taken, cpu));
    }
    case State::kAtCpu:
      begin(now);
  }
}

void Share::begin(SimTime now) {
  uint64_t bytes = 0;
  for (const Item& item : items) bytes += item.bytes;
  ionode->count(collective->direction, bytes);
  collective->under_way += buffers.size() - 1;
  for (Buffer& buffer : buffers) {
    buffer.share = this;
    resume(now, buffer);
  }
}

// Fills the buffer with the next items, as long as they touch and fit.
void Share::resume(SimTime now, Buffer& buffer) {
  if (next == items.size()) {
    collective->part_done(now);
    return;
  }
  buffer.first = next;
  buffer.address = items[next].address;
  const uint64_t limit = buffer.address + collective->buffer_bytes;
  uint64_t end = buffer.address;
  do {
    end = std::max(end, items[next].address + items[next].bytes);
    ++next;
  } while (next < items.size() && items[next].address <= end &&
           items[next].address + items[next].bytes <= limit);
  buffer.end = next;
  buffer.bytes = end - buffer.address;
  if (collective->direction == Direction::kRead) {
    use_device(now, buffer);
  } else {
    fetch_from_ranks(now, buffer);
  }
}

// Asks each rank for its data; the buffer is full when the last has come.
void Share::fetch_from_ranks(SimTime now, Buffer& buffer) {
  FileSystemContext& context = *collective->context;
  const uint64_t header = context.parameters.message_header;
  const uint32_t number = ionode->number();
  SimTime all_here = now;
  for (size_t i = buffer.first; i < buffer.end; ++i) {
    const Item& item = items[i];
    const Flight there = context.links.from_ionode(now, number, item.client.node, header);
    const Flight back = context.links.answer(there.arrival + there.receive_overhead, item.client,
                                             number, header + item.bytes);
    ionode->use_cpu(now, there.send_overhead + back.receive_overhead);
    const SimTime taken = context.links.take_in_at_ionode(back.arrival, number, back.transfer);
    all_here = later(all_here, taken + back.receive_overhead);
  }
  context.events.schedule(buffer, all_here);
}

void Share::use_device(SimTime now, Buffer& buffer) {
  ionode->submit(now, {collective->direction, buffer.address, buffer.bytes, &buffer});
}

void Share::device_done(SimTime now, Buffer& buffer) {
  ionode->note_device_time(now);
  FileSystemContext& context = *collective->context;
  for (size_t i = buffer.first; collective->direction == Direction::kRead && i < buffer.end; ++i) {
    const Item& item = items[i];
    const Flight flight = context.links.from_ionode(now, ionode->number(), item.client.node,
                                                    context.parameters.message_header + item.bytes);
    ionode->use_cpu(now, flight.send_overhead);
    const SimTime taken =
        context.links.take_in_at_node(flight.arrival, item.client.node, flight.transfer);
    collective->end = later(collective->end, taken + flight.receive_overhead);
  }
  resume(now, buffer);
}

}  // namespace

void Directed::begin(SimTime now, std::span<const Access> accesses, Completion& completion) {
  auto* collective = new Collective;
  collective->context = &context_;
  collective->completion = &completion;
  collective->began = collective->end = now;
  for (auto& ionode : context_.ionodes) {
    collective->shares.push_back(std::make_unique<Share>());
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
    context_.clients->flush(now, accesses.front().file, collective->client, *collective);
  } else {
    collective->send_orders(now);
  }
}

}  // namespace sesame::storage
