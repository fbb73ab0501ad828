// The pending conditional events of a simulation in the total order (time, EventOrder). An event is
// conditional: it may fire only when nothing earlier can happen any more (Chandy and Sherman, "The
// conditional event approach to distributed simulation", 1989). The executive ensures that.
//
// Use: derive a class from ConditionalEvent, implement fire(), and schedule() an object of it in
// Executive::events(); the executive calls fire(). (Without fibers, a loop over take_earliest()
// and fire() is enough.) schedule() again moves it, withdraw() removes
// it. The code that schedules an event owns it, and must withdraw it before deleting it. Each
// operation takes O(log n), since events store their index in the heap. Times are simulated. One
// thread.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "core/base/units.h"

namespace sesame::pdes {

// Classes of events in the order in which they fire at equal times. Later classes see all effects
// of earlier ones.
enum class EventClass : uint8_t {
  kInterface,  // a network interface injects the next message
  kModel,      // file systems and devices
  kRemote,     // one-sided operations and locks
  kMatch,      // receives from any source, and those that may be cancelled
  kWake,       // strands that yield until now, and probes
  // A message reaches a card, a link or the memory that it shares with others. The last, since
  // strands that have yielded until now may start messages now: these are served in their order,
  // too.
  kTransit,
};

// The order of events of equal time. It must not depend on the order in which fibers run. So an
// event that fibers may schedule ahead of its time is ordered by its rank, then by a number that
// the rank gives it.
struct EventOrder {
  EventClass kind;
  uint32_t rank;  // less than 2^24
  uint32_t number;

  // Events of equal time and class are in a fixed scattered order of their ranks. In the order of
  // rank numbers, ranks that run in lock step would use disks and locks in a more favourable order
  // than on a real machine.
  uint64_t key() const {
    constexpr uint32_t kGoldenRatio = 0x9e3779;  // 2^24 / golden ratio; odd: keys are distinct
    const uint64_t scattered = rank * kGoldenRatio & 0xffffff;
    return static_cast<uint64_t>(kind) << 56 | scattered << 32 | number;
  }
};

// The place of an event in the total order.
struct EventKey {
  int64_t time_ps = INT64_MAX;
  uint64_t order = UINT64_MAX;

  static constexpr EventKey never() { return {}; }
  friend constexpr auto operator<=>(const EventKey&, const EventKey&) = default;
};

class ConditionalEvent {
 public:
  virtual ~ConditionalEvent() = default;
  // Called at time() of the simulation, when no fiber is ready. Must not block; may make fibers
  // ready and schedule events, this one too, no earlier than time().
  virtual void fire() = 0;
  // Whether nothing that other workers of a parallel simulation do can have an effect on this
  // event, so that it may fire at any bound. Called when no fiber is ready and no other event of
  // this worker is earlier. False if it is not known.
  virtual bool is_independent() { return false; }
  // Starts loading into the cache what fire() will need. Called shortly before it, or not at all.
  virtual void load_ahead() const {}

  bool is_scheduled() const { return heap_index_ >= 0; }
  SimTime time() const { return time_; }

 private:
  friend class EventQueue;
  SimTime time_;
  uint64_t order_ = 0;  // EventOrder::key(), or the class kModel and a sequence number
  static constexpr int64_t kNotMovable = INT64_MAX;
  int64_t heap_index_ = -1;  // -1: not scheduled
};

class EventQueue {
 public:
  bool empty() const { return heap_.empty(); }
  SimTime earliest() const { return heap_.empty() ? SimTime::never() : heap_[0].event->time_; }
  EventKey first() const {
    return heap_.empty() ? EventKey::never() : EventKey{heap_[0].time_ps, heap_[0].order};
  }
  // REQUIRES: !empty()
  ConditionalEvent& first_event() const { return *heap_[0].event; }
  bool first_is_exclusive() const { return !heap_.empty() && heap_[0].is_exclusive; }

  // Schedules an event of the class kModel, or moves it if it is scheduled already; of equal times
  // the one scheduled first fires first. Only to be called by fire(), or by a fiber that has
  // yielded until its time, since the order among equals depends on the order of calls.
  void schedule(ConditionalEvent& event, SimTime time);
  // Schedules or moves the event. Any fiber may call this at any time. An exclusive one uses what
  // all workers of a parallel simulation share: see Executive::allow_turn().
  void schedule(ConditionalEvent& event, SimTime time, EventOrder order, bool is_exclusive = false);
  // The same for an event that is not scheduled and will be neither moved nor withdrawn. Cheaper:
  // the event is not touched again before it fires.
  void schedule_once(ConditionalEvent& event, SimTime time, EventOrder order);
  // Removes the event; does nothing if it is not scheduled.
  void withdraw(ConditionalEvent& event);
  // Removes the first event and returns it. REQUIRES: !empty()
  ConditionalEvent& take_earliest();

 private:
  // An event with its place in the order, so that comparing entries does not load the events: with
  // thousands of ranks these are not in the cache.
  struct Entry {
    int64_t time_ps;
    uint64_t order;
    ConditionalEvent* event;
    bool is_movable;
    bool is_exclusive = false;

    bool is_before(const Entry& other) const {
      return time_ps != other.time_ps ? time_ps < other.time_ps : order < other.order;
    }
  };
  void place(const Entry& entry, size_t index) {
    heap_[index] = entry;
    if (entry.is_movable) entry.event->heap_index_ = static_cast<int64_t>(index);
  }
  void insert_or_move(ConditionalEvent& event, bool is_exclusive);
  void remove(size_t index);
  void sift_up(size_t index);
  void sift_down(size_t index);
  void restore(size_t index);
  void load_next() const;

  std::vector<Entry> heap_;
  uint64_t next_sequence_ = 0;
};

}  // namespace sesame::pdes
