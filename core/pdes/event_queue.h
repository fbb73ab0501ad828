// The pending conditional events of a simulation, in the total order (time, EventOrder). An event
// is conditional: it may be taken only when nothing that could still happen earlier can happen
// (Chandy and Sherman, "The conditional event approach to distributed simulation", 1989). Events
// are owned by the code that schedules them and store their heap index, so that they can be moved
// or withdrawn in O(log n).
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/units.h"

namespace sesame::pdes {

// What fires first among events of equal time. Later classes see all effects of earlier ones.
enum class EventClass : uint8_t {
  kInterface,  // a network interface takes the next message
  kModel,      // file systems and devices
  kRemote,     // one-sided operations and locks
  kMatch,      // receives from any source
  kWake,       // strands that wait until everything before now has happened
};

// The order among equal times. It must not depend on the order in which fibers run: an event that
// a fiber may schedule ahead of its time names its rank and its number there.
struct EventOrder {
  EventClass kind;
  uint32_t rank;  // less than 2^24
  uint32_t number;

  // Ranks are served in a fixed order that scatters neighbours. In the order of their numbers,
  // ranks that run in lock step would find disks and locks in a friendlier order than real ones do.
  uint64_t key() const {
    constexpr uint32_t kGoldenRatio = 0x9e3779;  // of 2^24, and odd
    const uint64_t scattered = rank * kGoldenRatio & 0xffffff;
    return static_cast<uint64_t>(kind) << 56 | scattered << 32 | number;
  }
};

class ConditionalEvent {
 public:
  virtual ~ConditionalEvent() = default;
  virtual void fire() = 0;

  bool is_scheduled() const { return heap_index_ >= 0; }
  SimTime time() const { return time_; }

 private:
  friend class EventQueue;
  SimTime time_;
  uint64_t order_ = 0;  // EventOrder::key(), or the class kModel and a sequence number
  int64_t heap_index_ = -1;
};

class EventQueue {
 public:
  bool empty() const { return heap_.empty(); }
  SimTime earliest() const { return heap_.empty() ? SimTime::never() : heap_[0]->time_; }

  // Schedules an event of the class kModel, or moves it if it is scheduled already (it keeps its
  // order among equals). Only events that fire, and fibers whose time is reached, may call this.
  void schedule(ConditionalEvent& event, SimTime time);
  // Schedules or moves the event; any fiber may call this at any time.
  void schedule(ConditionalEvent& event, SimTime time, EventOrder order);
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
  void insert_or_move(ConditionalEvent& event);
  void sift_up(size_t index);
  void sift_down(size_t index);
  void restore(size_t index);

  std::vector<ConditionalEvent*> heap_;
  uint64_t next_sequence_ = 0;
};

}  // namespace sesame::pdes
