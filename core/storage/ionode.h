// One I/O node: a CPU that serves pieces of requests in the order of their arrival, a cache, and a
// device. In a node's own file system it is the node itself.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "core/storage/context.h"
#include "core/storage/device.h"
#include "core/storage/journal.h"
#include "core/storage/utilisation.h"

namespace sesame::storage {

// Neighbouring bytes on their way from or to the device: for a piece, a cache, or both.
struct DeviceRun final : Completion, Pooled<DeviceRun> {
  void done(SimTime at) override;
  Ionode* ionode = nullptr;
  Piece* piece = nullptr;  // null: nobody waits
  uint64_t fetch = 0;      // of the I/O node's cache
  uint32_t parts = 0;      // requests of the device: a run may lie in several places there
  bool is_background_write = false;
};

class Ionode : public JournalDevice {
 public:
  Ionode(FileSystemContext& context, uint32_t number, std::unique_ptr<Device> device)
      : context_(context), number_(number), device_(std::move(device)), journal_(context, *this) {}

  void arrive(Piece& piece, SimTime now);
  void serve(Piece& piece, SimTime now);
  void part_done(Piece& piece, SimTime at);
  void run_done(DeviceRun& run, SimTime at);

  // Moves bytes of a cell past the cache. The piece, if any, waits for it.
  void use_device(SimTime now, Direction direction, FileId file, const CellRange& range,
                  Piece* piece, uint64_t fetch);
  void submit(SimTime now, const DeviceRequest& request) override {
    device_->submit(now, request);
    note_device_time(now);
  }
  void note_device_time(SimTime now) override;
  // CPU time that somebody else's code here needs; when it is over.
  SimTime use_cpu(SimTime ready, SimTime time);
  uint32_t number() const { return number_; }
  void count(Direction direction, uint64_t bytes);

  IonodeStatistics statistics() const;

 private:
  struct FlushWait {
    uint64_t writes;  // as many must be done
    Piece* piece;
  };
  SimTime cpu_time(const Piece& piece) const;
  IonodeBlock at(BlockKey key, FileId file, uint64_t cell_block) const {
    return {key, number_, set_index(file, cell_block)};
  }

  void read(Piece& piece, SimTime now);
  void read_blocks(Piece& piece, SimTime now);
  bool recall(SimTime now, const IonodeBlock& block, int reader, CachePolicy::Source& source);
  void await(Piece& piece, uint64_t fetch);
  void add_forward(Piece& piece, SimTime now, const CachePolicy::Source& source);
  void send_forward(SimTime now);
  void read_from_device(Piece& piece, SimTime now, uint64_t cell_block);
  void add_missing(Piece& piece, SimTime now, const IonodeBlock& block, uint64_t cell_block);
  void read_run(SimTime now, FileId file, Piece* piece);
  void read_ahead(const Piece& piece, SimTime now, bool has_missed);

  void write(Piece& piece, SimTime now);
  bool write_to_cache(Piece& piece, SimTime now, const IonodeBlock& block, const CellRange& bytes);
  void invalidate_for_client_write(Piece& piece, SimTime now);
  void take_back(Piece& piece, SimTime now);
  void drop_other_copies(Piece& piece, SimTime now, const IonodeBlock& block, uint64_t written);
  void send_control(Piece& piece, SimTime now, int cnode, uint64_t bytes, uint64_t answer_bytes);
  BlockCache::Slot& keep(SimTime now, const IonodeBlock& block);
  void write_behind(SimTime now, BlockKey victim);
  void flush(Piece& piece, SimTime now);
  void recall_dirty(Piece& piece, SimTime now);
  void note_written(FileId file);

  void reply(Piece& piece, SimTime ready);

  FileSystemContext& context_;
  uint32_t number_;
  std::unique_ptr<Device> device_;
  Journal journal_;
  IonodeStatistics totals_;
  SimTime cpu_free_;
  uint64_t queue_ = 0;
  Forward* forward_ = nullptr;                // of the piece at hand, still to be sent
  int last_control_to_ = Directory::kNobody;  // the compute node that the piece at hand has sent a
                                              // control message last
  CellRange run_;           // of the piece at hand: what the device has to do next
  uint64_t run_fetch_ = 0;  // brings it to the cache
  std::vector<std::vector<uint64_t>> sequential_;  // by file, cell: where the last read ended
  uint64_t background_writes_ = 0;                 // ever begun, with nobody who waits
  uint64_t background_done_ = 0;
  std::deque<FlushWait> flush_waits_;
  std::vector<bool> written_;  // by file: since its last flush
  Utilisation utilisation_;
  SimTime busy_seen_;  // of the device
  SimTime busy_end_;
};

}  // namespace sesame::storage
