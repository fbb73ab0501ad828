// LockMessages: the messages of window locks. A claim or a release travels to each target, where it
// takes effect in the order of simulated time; a grant travels back. One object is the event of all
// messages that a call sends: it fires at each arrival and deletes itself after the last.
#pragma once

#include <span>
#include <vector>

#include "core/base/pool.h"
#include "core/mpi/rma/window.h"
#include "core/pdes/event_queue.h"

namespace sesame::mpi {

struct Strand;
struct World;

// It takes effect, in the order of simulated time.
void deliver_lock(World& world, SharedWindow& window, const LockDelivery& delivery);
// A grant arrives at the rank that claimed the lock.
void receive_grant(WindowObject& origin, SimTime arrival);

class LockMessages final : public pdes::ConditionalEvent, public Pooled<LockMessages> {
 public:
  // Claims the locks of these ranks and charges the send overheads. Adds the locks to
  // WindowObject::grants_awaited until they are granted.
  static void claim(Strand& strand, WindowObject& window, std::span<const int> targets, int type);
  // Releases the locks.
  static void release(Strand& strand, WindowObject& window, std::span<const int> targets);

  ~LockMessages() override;
  void fire() override;

 private:
  explicit LockMessages(WindowObject& window);
  static void send(Strand& strand, WindowObject& window, std::span<const int> targets, int type);
  void schedule_all();
  void send_away();
  void schedule_next();

  WindowObject& window_;
  std::vector<LockDelivery> deliveries_;  // by falling arrival: the next is the last
  pdes::EventOrder order_{};
};

}  // namespace sesame::mpi
