// The asynchronous protocols: each worker calculates its own earliest input time from what the
// others announce, and waits for no common barrier.
//
// - Null messages (Chandy and Misra): a worker announces its earliest output time, before which
//   nothing that it sends has an effect, whatever it receives. The earliest input time of a worker
//   is the least of the others' output times. It advances by at least the look-ahead with each
//   announcement, also while nothing happens. Announced is only what a worker waits for.
// - Conditional events (Chandy and Sherman): a worker that can do nothing announces its first
// event.
//   When no worker can do anything and nothing is on its way, these events are all that will
//   happen, and the earliest input times follow from them, however far ahead the events are.
// - Both together (Jha and Bagrodia): the later of the two earliest input times holds.
//
// Use: one object for each worker, as the synchronizer of its executive. `take` delivers a frame of
// another worker: its effect is at least `look_ahead` after the event that caused it. The result of
// a run does not depend on the protocol. One thread each.
#pragma once

#include <cstdint>
#include <functional>

#include "core/pdes/executive.h"
#include "core/pdes/worker_synchronizer.h"
#include "core/pdes/workers.h"

namespace sesame::pdes {

struct Announcements {
  bool null_messages;
  bool conditional_events;
};

class AsynchronousProtocol final : public WorkerSynchronizer {
 public:
  // REQUIRES: at least one kind of announcements, the same for all workers; look_ahead > 0.
  AsynchronousProtocol(Worker& worker, Executive& executive, Announcements announcements,
                       SimTime look_ahead, Worker::Take take);
  // Sets a function that gives a time before which this worker sends nothing, whatever it receives
  // and fires (the clock of the rank that is least advanced): it makes the output time later.
  void set_next_send(std::function<SimTime()> next_send) { next_send_ = std::move(next_send); }

  bool synchronize(const SimTime& earliest) override;
  void catch_up(const SimTime& earliest) override;

 private:
  enum class Step : uint8_t { kWait, kContinue, kEnd };

  SharedState::OfWorker& mine() { return worker_.state().workers[worker_.number()]; }
  Step await_step();
  Step advance();
  Step resume();
  void allow_until(int64_t bound_ps);
  int64_t input_ps();
  void announce_output(int64_t input_ps);
  void become_idle();
  bool become_busy();
  void end_round();
  int64_t effect_of(int64_t cause_ps) const;

  Announcements announcements_;
  int64_t look_ahead_ps_;
  std::function<SimTime()> next_send_;
  int64_t bound_ps_ = 0;  // of the executive's events
  // While synchronize() runs:
  int64_t earliest_ps_ = 0;
  int64_t next_send_ps_ = 0;
  int64_t round_ = 0;
  bool is_idle_ = false;  // not counted in SharedState::pending
};

}  // namespace sesame::pdes
