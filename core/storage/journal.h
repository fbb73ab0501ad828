// Journal: the journal of a file system on an I/O node. It models what a sync waits for after its
// data is on the device.
//
// A sync joins the running transaction when it starts. The journal commits that transaction as soon
// as one of its syncs has its data on the device and no other commit is in progress. Syncs that
// start later join the next transaction, and all of them share its commit (group commit, as in
// ext4). A commit waits for the data of all its syncs, writes its blocks, then its commit record of
// one block, and then takes the rest of its time (metadata.sync).
#pragma once

#include <vector>

#include "core/storage/context.h"
#include "core/storage/device.h"

namespace sesame::storage {

// The part of an I/O node that the journal uses.
class JournalDevice {
 public:
  // Submits a request to the device. Its completion must call record_device_time().
  virtual void submit(SimTime now, const DeviceRequest& request) = 0;
  virtual void record_device_time(SimTime now) = 0;

 protected:
  ~JournalDevice() = default;
};

class Journal final : pdes::ConditionalEvent, Completion {
 public:
  // Both must outlive the journal.
  Journal(const FileSystemContext& context, JournalDevice& device);
  ~Journal() override;

  // A sync starts. `sync` is called when its commit is complete. Returns its transaction's number.
  uint64_t join(Completion& sync);
  // The data of a sync of that transaction is on the device.
  void data_is_written(SimTime now, uint64_t transaction);

 private:
  struct Transaction {
    std::vector<Completion*> syncs;
    size_t without_data = 0;  // how many of them do not have their data on the device yet
    bool is_wanted = false;   // some sync has its data on the device
  };
  void begin(SimTime now);
  void proceed(SimTime now);
  void done(SimTime at) override;  // a write is on the device
  void fire() override;            // the commit is done

  const machine::StorageParameters& parameters_;
  pdes::EventQueue& events_;
  JournalDevice& device_;
  uint64_t next_address_;           // where the next write goes
  uint64_t number_of_running_ = 0;  // the running transaction's
  Transaction running_;
  Transaction committing_;
  bool is_committing_ = false;
  uint64_t bytes_left_ = 0;  // of the current commit: bytes not written yet
};

}  // namespace sesame::storage
