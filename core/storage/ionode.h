// Ionode: one I/O node, with a CPU that serves subrequests in the order of their arrival, a cache,
// and a device. In a node-local file system it stands for the node itself.
//
// A subrequest passes arrive() (message received, waits for the CPU), serve() (the work:
// ionode_reads.cc, ionode_writes.cc) and complete_one() (called for each device run, fetch and
// reply of another compute node that it waits for). After the last of these the reply leaves.
//
// Writes: a block is written through to the device or stays dirty in the cache, as the machine file
// says. Before a block is written, the copies in other compute nodes' caches are invalidated or
// updated; the reply leaves only when those nodes have confirmed. A dirty block that is evicted is
// written behind, together with its dirty neighbours in the stripe unit, while no request waits. A
// flush waits for all such background writes that started before it.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "core/base/utilisation.h"
#include "core/storage/context.h"
#include "core/storage/device.h"
#include "core/storage/journal.h"

namespace sesame::storage {

// Consecutive bytes of a cell that move to or from the device, for a subrequest, a cache, or both.
struct DeviceRun final : Completion, Pooled<DeviceRun> {
  void done(SimTime at) override;
  Ionode* ionode = nullptr;
  Subrequest* subrequest = nullptr;  // null: none waits
  uint64_t fetch = 0;                // of the I/O node's cache; 0: none
  uint32_t outstanding = 0;  // requests to the device: a run may consist of several extents there
  bool is_background_write = false;
};

class Ionode : public JournalDevice {
 public:
  Ionode(FileSystemContext& context, uint32_t number, std::unique_ptr<Device> device)
      : context_(context), number_(number), device_(std::move(device)), journal_(context, *this) {}

  // Events of a subrequest (see above), at simulated time `now`.
  void arrive(Subrequest& subrequest, SimTime now);
  void serve(Subrequest& subrequest, SimTime now);
  void complete_one(Subrequest& subrequest, SimTime at);
  void run_done(DeviceRun& run, SimTime at);

  // Reads or writes bytes of a cell on the device. `subrequest` (may be null) waits for it; `fetch`
  // (may be 0) completes with it.
  void access_device(SimTime now, Direction direction, FileId file, const CellRange& range,
                     Subrequest* subrequest, uint64_t fetch);
  void submit(SimTime now, const DeviceRequest& request) override {
    device_->submit(now, request);
    record_device_time(now);
  }
  void record_device_time(SimTime now) override;  // adds to the device's utilisation
  // Occupies the CPU for `time` from `ready` on, after earlier work. Returns when that is over.
  SimTime use_cpu(SimTime ready, SimTime time);
  uint32_t number() const { return number_; }
  // Adds a request to the statistics.
  void count(Direction direction, uint64_t bytes);

  IonodeStatistics statistics() const;

 private:
  struct FlushWait {
    uint64_t writes;  // background writes that must be complete
    Subrequest* subrequest;
  };
  SimTime cpu_time(const Subrequest& subrequest) const;
  IonodeBlock at(BlockKey key, FileId file, uint64_t cell_block) const {
    return {key, number_, set_index(file, cell_block)};
  }

  void read(Subrequest& subrequest, SimTime now);
  void read_blocks(Subrequest& subrequest, SimTime now);
  bool recall(SimTime now, const IonodeBlock& block, int reader, CachePolicy::Source& source);
  void wait_for_fetch(Subrequest& subrequest, uint64_t fetch);
  void add_forward(Subrequest& subrequest, SimTime now, const CachePolicy::Source& source);
  void send_forward(SimTime now);
  void read_from_device(Subrequest& subrequest, SimTime now, uint64_t cell_block);
  void add_miss(Subrequest& subrequest, SimTime now, const IonodeBlock& block, uint64_t cell_block);
  void submit_read_run(SimTime now, FileId file, Subrequest* subrequest);
  void read_ahead(const Subrequest& subrequest, SimTime now, bool has_missed);

  void write(Subrequest& subrequest, SimTime now);
  bool write_to_cache(Subrequest& subrequest, SimTime now, const IonodeBlock& block,
                      const CellRange& bytes);
  void invalidate_for_client_write(Subrequest& subrequest, SimTime now);
  void store_evicted(Subrequest& subrequest, SimTime now);
  void drop_other_copies(Subrequest& subrequest, SimTime now, const IonodeBlock& block,
                         uint64_t written);
  void send_control(Subrequest& subrequest, SimTime now, int cnode, uint64_t bytes,
                    uint64_t answer_bytes);
  BlockCache::Slot& insert_block(SimTime now, const IonodeBlock& block);
  void write_behind(SimTime now, BlockKey victim);
  void flush(Subrequest& subrequest, SimTime now);
  void recall_dirty(Subrequest& subrequest, SimTime now);
  void mark_written(FileId file);

  void reply(Subrequest& subrequest, SimTime ready);

  FileSystemContext& context_;
  uint32_t number_;
  std::unique_ptr<Device> device_;
  Journal journal_;
  IonodeStatistics totals_;
  SimTime cpu_free_;
  uint64_t queue_ = 0;
  Forward* forward_ = nullptr;  // of the current subrequest, not sent yet
  // The compute node to which the current subrequest last sent a control message.
  int last_control_to_ = Directory::kNoNode;
  CellRange run_;           // of the current subrequest: bytes for the device, not submitted yet
  uint64_t run_fetch_ = 0;  // the fetch of the run's blocks into the cache; 0: none
  std::vector<std::vector<uint64_t>> sequential_;  // by file and cell: where the last read ended
  uint64_t background_writes_ = 0;                 // started so far without a subrequest
  uint64_t background_done_ = 0;
  std::deque<FlushWait> flush_waits_;
  std::vector<bool> written_;  // by file: whether written since its last flush
  Utilisation utilisation_;
  SimTime busy_seen_;  // the device's busy time that utilisation_ has
  SimTime busy_end_;
};

}  // namespace sesame::storage
