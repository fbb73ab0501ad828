// Small messages that the running rank has sent but that are not yet in their receiver's queue.
// They are delivered together, when the rank gives way: with thousands of ranks a receiver's memory
// is never in the cache, and loads for many messages overlap where those for one wait for each
// other. Nobody can look into a receiver's queue before. Messages of one sender arrive in the order
// sent as long as who sends past this list empties it first.
#pragma once

#include <array>
#include <cstddef>

#include "core/mpi/messages/matching.h"

namespace sesame::mpi {

struct World;

class InFlight {
 public:
  explicit InFlight(World& world) : world_(world) {}

  void add(int target, QueuedMessage* message);
  void deliver_all();

 private:
  struct Flight {
    QueuedMessage* message;
    int target;
    const RequestObject* receive;  // a guess: what the message will probably meet
  };

  void load_receive(Flight& flight);
  void load_landing(const Flight& flight);
  void deliver(const Flight& flight);

  World& world_;
  std::array<Flight, 32> flights_;
  size_t count_ = 0;
};

}  // namespace sesame::mpi
