// How a worker of a parallel simulation learns until when its events may fire: the interface
// between the executive and a conservative protocol (docs/models/parallel.md). The bound is the
// worker's earliest input time. No message of another worker has an effect before it, neither one
// that is on its way nor one that will be sent.
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
  // Called now and then while events fire that need no bound, so that other workers do not wait for
  // space in rings or for announcements meanwhile. No fiber is ready; the first event is at
  // `earliest`. Delivers what has arrived. Does not wait. Must not switch fibers.
  virtual void catch_up(const SimTime& /*earliest*/) { take_arrivals(); }
  // Whether it gives turns, which uses of shared models need (Executive::allow_turn()).
  virtual bool gives_turns() const { return false; }

  // Whether another executive that has fibers left waits, perhaps for messages of this one.
  virtual bool is_awaited() const { return false; }

  // The others are for fibers that wait for something outside the simulation
  // (Executive::set_outside_hook()), and for fibers that yield or are to run. This executive counts
  // as busy then.
  // Whether messages of other executives, or parts of them, have arrived since the last were taken:
  virtual bool has_arrivals() { return false; }
  // Delivers those that are complete; whether there were any.
  virtual bool take_arrivals() { return false; }
  // Whether the run is being stopped.
  virtual bool is_stopped() const { return false; }
  // Whether all executives have found that no event is left anywhere. Where fibers may wait for the
  // outside, they find this twice before the run ends. After the first time each executive waits
  // longest for its fibers.
  virtual bool is_stuck() const { return true; }
};

}  // namespace sesame::pdes
