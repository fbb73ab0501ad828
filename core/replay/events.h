// Events: what threads wait for. An event happens when all have arrived that must, and its time
// is the latest arrival on the replay's schedule, which threads may run ahead of: only I/O is done
// in real time.
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
  // Tells another process that all have arrived here.
  using Tell = std::function<void(uint32_t process, uint32_t event, int64_t time_ns)>;

  Events(const Plan& plan, bool may_spin, Tell tell);

  void arrive(uint32_t event, int64_t time_ns);
  void take_token(uint32_t event, int64_t time_ns);  // from another process

  struct Happened {
    int64_t time_ns;     // on the schedule
    int64_t at_ns;       // of the clock, when the last one arrived
    bool is_waited_for;  // the caller was there before it happened
  };
  // Until the event has happened or `stop` is set.
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
  Tell tell_;
};

}  // namespace sesame::replay
