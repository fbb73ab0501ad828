// The pending conditional events of a simulation, in the total order (time, priority, sequence
// number). An event is conditional: it may be taken only when nothing that could still happen
// earlier can happen (Chandy and Sherman, "The conditional event approach to distributed
// simulation", 1989). Events are owned by who schedules them and know their place in the heap, so
// that they can be moved or withdrawn in O(log n).
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/units.h"

namespace sesame::pdes {

class ConditionalEvent {
 public:
  virtual ~ConditionalEvent() = default;
  virtual void fire() = 0;

  bool is_scheduled() const { return heap_index_ >= 0; }
  SimTime time() const { return time_; }

 private:
  friend class EventQueue;
  SimTime time_;
  uint64_t order_ = 0;  // priority in the top byte, then the sequence number
  int64_t heap_index_ = -1;
};

class EventQueue {
 public:
  bool empty() const { return heap_.empty(); }
  SimTime earliest() const { return heap_.empty() ? SimTime::never() : heap_[0]->time_; }

  // Schedules the event, or moves it if it is scheduled already (keeping its place among equals).
  void schedule(ConditionalEvent& event, SimTime time, uint8_t priority = 128);
  void withdraw(ConditionalEvent& event);
  ConditionalEvent& take_earliest();  // REQUIRES: !empty()

 private:
  static bool before(const ConditionalEvent& a, const ConditionalEvent& b) {
    return a.time_ != b.time_ ? a.time_ < b.time_ : a.order_ < b.order_;
  }
  void place(ConditionalEvent* event, size_t index) {
    heap_[index] = event;
    event->heap_index_ = static_cast<int64_t>(index);
  }
  void sift_up(size_t index);
  void sift_down(size_t index);
  void restore(size_t index);

  std::vector<ConditionalEvent*> heap_;
  uint64_t next_sequence_ = 0;
};

}  // namespace sesame::pdes
