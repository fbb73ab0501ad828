// How a worker of a parallel simulation learns until when its events may fire: the interface
// between the executive and a conservative protocol (docs/models/parallel.md). The bound is the
// worker's earliest input time: no message of another worker, on its way or still to be sent, has
// an effect before it.
//
// Use: derive a class for a protocol and give it to Executive::set_synchronizer(). It delivers the
// messages of other workers and moves the bound with Executive::allow_until(). One thread.
#pragma once

#include "core/base/units.h"

namespace sesame::pdes {

class Synchronizer {
 public:
  virtual ~Synchronizer() = default;
  // Called when no fiber is ready and no event may fire; the worker's first event is at `earliest`
  // (SimTime::never(): it has none). Returns when messages have arrived or the bound has moved.
  // False: nothing is left to do on any worker, or the run is being stopped. Must not switch
  // fibers.
  virtual bool synchronize(const SimTime& earliest) = 0;
  // Whether it gives turns, which uses of shared models need (Executive::allow_turn()).
  virtual bool gives_turns() const { return false; }

  // For fibers that wait for something outside the simulation (Executive::set_outside_hook()),
  // while this executive counts as busy. Whether messages of other executives have arrived:
  virtual bool has_arrivals() { return false; }
  // Delivers them.
  virtual void take_arrivals() {}
  // Whether the run is being stopped.
  virtual bool is_stopped() const { return false; }
  // Whether all executives have found that no event is left anywhere. Where fibers may wait for the
  // outside this is found once before the run ends, so that each executive waits for them longest
  // then, and once more afterwards.
  virtual bool is_stuck() const { return true; }
};

}  // namespace sesame::pdes
