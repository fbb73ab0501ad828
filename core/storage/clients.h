// Clients: the compute nodes of a fully modelled file system. An access of a rank goes through the
// cache of its node. What the cache does not hold, or must not keep, becomes subrequests to I/O
// nodes: consecutive blocks form one run, and each cell (layout.h) that a run touches gets one
// subrequest.
//
// begin() and flush() implement FileSystem's access() and flush(). The events in flight (context.h)
// call the other functions, each at simulated time `now`.
#pragma once

#include <vector>

#include "core/storage/context.h"

namespace sesame::storage {

class Clients {
 public:
  explicit Clients(FileSystemContext& context);

  void begin(SimTime now, const Access& access, Completion& completion);
  void flush(SimTime now, FileId file, const Client& client, Completion& completion);

  // Processes the next element of the request, or completes it after the last.
  void resume(Request& request, SimTime now);
  // The subrequest's message is ready: occupies the sender's interface and sends it.
  void transmit(Subrequest& subrequest, SimTime now);
  // A message for the rank has arrived: the reply, or forwarded blocks. `transfer` is how long it
  // occupies the node's interface, `overhead` the rank's CPU time.
  void receive_reply(Subrequest& subrequest, SimTime now, SimTime transfer, SimTime overhead);
  // One of the subrequests and fetches that the current element waits for is complete.
  void complete_one(Request& request, SimTime at);

  // Sends a dirty block from a compute node's cache to its I/O node. No request waits for it.
  void write_back(SimTime now, int node, BlockKey key) {
    evict(now, node, SubrequestKind::kWriteBack, key);
  }

 private:
  // Bytes of the current element that the same kind of subrequest will move, not sent yet.
  struct Run {
    SubrequestKind kind;
    uint64_t begin;  // bytes of the file
    uint64_t end;
  };
  void begin_extent(Request& request, SimTime now, const Extent& extent);
  void read_with_cache(Request& request, const Extent& extent);
  void write_with_cache(Request& request, const Extent& extent);
  BlockCache::Slot& fetch_block(Request& request, BlockKey key);
  void write_cached_block(Request& request, int cnode, BlockCache::Slot& slot, uint64_t begin,
                          uint64_t end);
  void allocate_for_write(Request& request, int cnode, BlockKey key, uint64_t begin, uint64_t end);
  void add_run(Request& request, SubrequestKind kind, uint64_t begin, uint64_t end);
  void send_run(Request& request);
  void wait_for_fetch(Request& request, uint64_t fetch);
  void send_subrequest(Request& request, Subrequest& subrequest);
  SimTime send(Subrequest& subrequest, SimTime ready);
  uint64_t message_bytes(const Subrequest& subrequest) const;
  void evict(SimTime now, int node, SubrequestKind kind, BlockKey key);
  void evict_victims(SimTime now, int node);

  FileSystemContext& context_;
  Run run_{};
  std::vector<BlockCache::Slot>
      victims_;                         // of the current element: blocks that its fetches evicted
  std::vector<uint64_t> cell_fetches_;  // by cell: the fetch of the run's blocks; 0: none
};

}  // namespace sesame::storage
