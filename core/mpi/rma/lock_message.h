// Messages about locks: a claim or its end travels to each target, where it takes effect in order
// of simulated time, and a grant travels back.
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
  // Claims the locks of these ranks; charges the overheads. The window counts the grants.
  static void claim(Strand& strand, WindowObject& window, std::span<const int> targets, int type);
  // Gives them back.
  static void release(Strand& strand, WindowObject& window, std::span<const int> targets);

  ~LockMessages() override;
  void fire() override;

 private:
  struct Stop {
    SimTime arrival;
    int target;
    SimTime back;  // how long an answer takes
  };
  static constexpr int kRelease = 0;

  LockMessages(WindowObject& window, int type);
  static void send(Strand& strand, WindowObject& window, std::span<const int> targets, int type);
  void depart();
  void travel();
  void visit(const Stop& stop);

  WindowObject& window_;
  const int type_;           // of the lock that is claimed, or kRelease
  std::vector<Stop> stops_;  // the next one last
  pdes::EventOrder order_{};
};

}  // namespace sesame::mpi
