// Small messages that the running rank has sent and that are not yet in their receiver's queue.
// They are delivered in one batch when the rank yields. With thousands of ranks a receiver's memory
// is never in the cache; in a batch the loads for several messages overlap.
//
// Deferring changes no result: no other rank runs before the sender yields, so none can look into
// a queue; and messages of one sender arrive in the order sent, because code that delivers a
// message in another way, or looks into a queue, calls deliver_all() first. World owns the list;
// the list owns its messages until they are delivered. One thread.
#pragma once

#include <array>
#include <cstddef>

#include "core/mpi/messages/matching.h"

namespace sesame::mpi {

struct World;

class InFlight {
 public:
  explicit InFlight(World& world) : world_(world) {}

  // Takes ownership of a message to the rank `target` of the run. Delivers all when the list is
  // full.
  void add(int target, QueuedMessage* message);
  // In the order in which they were added.
  void deliver_all();

 private:
  struct Pending {
    QueuedMessage* message;
    int target;
    const RequestObject* receive;  // that it will probably match; only for loading memory ahead
  };

  void prefetch_receive(Pending& pending);
  void prefetch_buffer(const Pending& pending);
  void deliver(const Pending& pending);

  World& world_;
  // Enough that a rank's messages to its neighbours in a 3-D halo (26) are one batch.
  std::array<Pending, 32> pending_;
  size_t count_ = 0;
};

}  // namespace sesame::mpi
