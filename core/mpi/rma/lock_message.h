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
  struct Delivery {
    SimTime arrival;
    int target;
    SimTime reply_latency;  // latency of a grant
  };
  static constexpr int kRelease = 0;

  LockMessages(WindowObject& window, int type);
  static void send(Strand& strand, WindowObject& window, std::span<const int> targets, int type);
  void schedule_all();
  void schedule_next();
  void deliver(const Delivery& delivery);

  WindowObject& window_;
  const int type_;                    // type of the claimed lock, or kRelease
  std::vector<Delivery> deliveries_;  // by falling arrival: the next is the last
  pdes::EventOrder order_{};
};

}  // namespace sesame::mpi
