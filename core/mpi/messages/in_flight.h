// Small messages that the running rank has sent and that are not yet in their receiver's queue.
// They are delivered in one batch when the rank yields. With thousands of ranks a receiver's memory
// is never in the cache; in a batch the loads for several messages overlap.
//
// Deferring changes no result: no other rank runs before the sender yields, so none can look into
// a queue; and messages of one sender arrive in the order sent, because code that delivers a
// message in another way, or looks into a queue, calls deliver_all() first.
//
// Use: InFlight::of() gives the run's list, which World owns. The first call makes it and sets the
// executive's yield hook, so everything that sends or announces messages calls it before. The list
// owns its messages until they are delivered. Nothing here fails. One thread.
#pragma once

#include <array>
#include <cstddef>

#include "core/mpi/messages/message.h"
#include "core/mpi/messages/world.h"

namespace sesame::mpi {

// Delivers the running rank's messages in flight and injects its rendezvous data that can be
// injected. The executive calls it when a strand yields.
void finish_sends(World& world);

class InFlight {
 public:
  static InFlight& of(World& world) {
    if (world.in_flight == nullptr) [[unlikely]]
      make(world);
    return *world.in_flight;
  }

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

  explicit InFlight(World& world) : world_(world) {}
  [[gnu::cold]] static void make(World& world);
  void prefetch_receive(Pending& pending);
  void prefetch_buffer(const Pending& pending);

  World& world_;
  // Enough that a rank's messages to its neighbours in a 3-D halo (26) are one batch.
  std::array<Pending, 32> pending_;
  size_t count_ = 0;
};

}  // namespace sesame::mpi
