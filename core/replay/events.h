// Events that threads wait for. An event happens when all expected arrivals and tokens have been
// counted. Its time is that of the latest arrival on the replay's schedule, not on the clock: only
// I/O is done in real time, so the schedule of a thread may be ahead of the clock. Safe for use by
// several threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "core/replay/plan.h"

namespace sesame::replay {

class Events {
 public:
  // Notifies another process that all local arrivals are complete.
  using Notify = std::function<void(uint32_t process, uint32_t event, int64_t time_ns)>;

  // `may_spin`: each thread has a processor, so wait() may spin for some 10 µs before it sleeps.
  Events(const Plan& plan, bool may_spin, Notify notify);

  void arrive(uint32_t event, int64_t time_ns);
  void take_token(uint32_t event, int64_t time_ns);  // from another process

  struct Happened {
    int64_t time_ns;     // on the schedule
    int64_t at_ns;       // of the clock, when the last one arrived
    bool is_waited_for;  // the caller was there before it happened
  };
  // Waits until the event has happened or `stop` is set. With `keeps_processor` it spins until then
  // and never sleeps.
  Happened wait(uint32_t event, bool keeps_processor, const std::atomic<bool>& stop);

 private:
  struct Event {
    std::atomic<uint32_t> missing;  // arrivals here and tokens
    std::atomic<uint32_t> missing_here;
    std::atomic<uint32_t> sleepers = 0;
    std::atomic<int64_t> time_ns = 0;
    std::atomic<int64_t> at_ns = 0;
  };
  void count_down(Event* event);

  const Plan& plan_;
  std::unique_ptr<Event[]> events_;
  bool may_spin_;
  Notify notify_;
};

}  // namespace sesame::replay
