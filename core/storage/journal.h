// The journal of a file system on an I/O node: what a sync has to wait for after its data. A sync
// is in the transaction that runs when it begins. That one is committed when the first of its syncs
// has its data on the device and no other commit is under way; who comes later is in the next one,
// all together (group commit, as in ext4's journal). A commit waits for the data of all its syncs,
// writes its blocks, then, when those are on the device, its record of one block, and then takes
// the rest of its time.
#pragma once

#include <vector>

#include "core/storage/context.h"
#include "core/storage/device.h"

namespace sesame::storage {

// What the journal needs of its I/O node.
class JournalDevice {
 public:
  // One request to the device, told to its completion, who calls note_device_time() then.
  virtual void submit(SimTime now, const DeviceRequest& request) = 0;
  virtual void note_device_time(SimTime now) = 0;

 protected:
  ~JournalDevice() = default;
};

class Journal final : pdes::ConditionalEvent, Completion {
 public:
  // Both live longer.
  Journal(const FileSystemContext& context, JournalDevice& device);
  ~Journal() override;

  // A sync begins. Who is told when its commit is done; the number of its transaction.
  uint64_t join(Completion& sync);
  // The data of a sync of that transaction is on the device.
  void data_is_written(SimTime now, uint64_t transaction);

 private:
  struct Transaction {
    std::vector<Completion*> syncs;
    size_t without_data = 0;  // of them: their data is not on the device yet
    bool is_wanted = false;   // some sync has its data there
  };
  void begin(SimTime now);
  void proceed(SimTime now);
  void done(SimTime at) override;  // a write is on the device
  void fire() override;            // the commit is done

  const machine::StorageParameters& parameters_;
  pdes::EventQueue& events_;
  JournalDevice& device_;
  uint64_t place_;  // on the device, of what it writes next
  uint64_t number_of_running_ = 0;
  Transaction running_;
  Transaction committing_;
  bool is_committing_ = false;
  uint64_t left_ = 0;  // bytes of the commit that are still to be written
};

}  // namespace sesame::storage
