// Small messages that the running rank has sent but that are not yet in their receiver's queue.
// They are delivered together, when the rank yields: with thousands of ranks a receiver's memory is
// never in the cache, and loads for many messages overlap where those for one wait for each other.
//
// No rank can see into a receiver's queue meanwhile, since none runs. Messages of one sender arrive
// in the order sent as long as what is sent past this list calls deliver_all() first. World owns
// the list, and the list its messages until they are delivered; one thread.
#pragma once

#include <array>
#include <cstddef>

#include "core/mpi/messages/matching.h"

namespace sesame::mpi {

struct World;

class InFlight {
 public:
  explicit InFlight(World& world) : world_(world) {}

  // Takes the message over, for the rank `target` of the run. Delivers all when there is no room.
  void add(int target, QueuedMessage* message);
  // In the order in which they were added.
  void deliver_all();

 private:
  struct Pending {
    QueuedMessage* message;
    int target;
    const RequestObject* receive;  // which it will probably match; only to load its memory
  };

  void prefetch_receive(Pending& pending);
  void prefetch_buffer(const Pending& pending);
  void deliver(const Pending& pending);

  World& world_;
  std::array<Pending, 32> pending_;
  size_t count_ = 0;
};

}  // namespace sesame::mpi
