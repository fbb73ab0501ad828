// When a rank computed, for cards that are slower beside cores that compute
// (docs/models/sharing.md).
//
// Use: add() each computation when it is charged, covers() at the times of events, in their order.
// What is charged after an event that it covers, as of a thread that waited for another one, comes
// too late for that event. 16 bytes for each computation that no event has passed yet: where no
// message reaches a card, for all of them. Nothing here fails. One thread.
#pragma once

#include <deque>
#include <iterator>

#include "core/base/units.h"

namespace sesame::mpi {

class ComputingTimes {
 public:
  // Computations of one thread come in the order of time, those of several threads overlap.
  void add(SimTime begin, SimTime end) {
    if (begin == end) return;
    if (!times_.empty() && times_.back().end == begin) {
      times_.back().end = end;
      return;
    }
    auto at = times_.end();
    while (at != times_.begin() && std::prev(at)->begin > begin) --at;
    times_.insert(at, {begin, end});
  }

  // Whether the rank computes at `now`. Times that ended before an earlier `now` may be forgotten.
  bool covers(SimTime now) {
    while (!times_.empty() && times_.front().end <= now) times_.pop_front();
    return !times_.empty() && times_.front().begin <= now;
  }

 private:
  struct Time {
    SimTime begin;
    SimTime end;
  };
  std::deque<Time> times_;  // by begin
};

}  // namespace sesame::mpi
