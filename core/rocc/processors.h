// The processors of a node and their scheduler. All processors share one queue of ready tasks.
//
// Round robin: a task runs for at most a quantum, then it is queued behind the others. It keeps the
// processor for the rest of its quantum when it begins another request at once.
//
// Fair, in the manner of Linux's completely fair scheduler (Linux 2.6.23 to 6.5): the task with the
// least virtual run time is next, which advances by run time x 1024 / weight. A slice is the task's
// share of the period, at least the granularity. A task that wakes up gets half a period's credit
// at most, and preempts a running one that is ahead of it by more than the granularity.
//
// Use: derive from Task, and make_ready() it when it wants a processor; then take and fire events
// of the queue, which call next_demand(). `now` is the simulated time, that of the event that
// fires. It owns no tasks; they must outlive it. Times are simulated. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "core/base/units.h"
#include "core/pdes/event_queue.h"
#include "core/rocc/model.h"

namespace sesame::rocc {

class Task {
 public:
  explicit Task(double weight) : weight_(weight) {}
  virtual ~Task() = default;
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  // Called on a processor when all that was requested has been done: the processor time that the
  // task requests next, or 0 when it gives the processor up. May make other tasks ready.
  virtual SimTime next_demand(SimTime now) = 0;

  // Whether it has a processor or waits for one.
  bool is_active() const { return state_ != State::kIdle; }
  // Processor time used since the last reset; up to date after Processors::charge().
  SimTime used() const { return used_; }
  void reset_used() { used_ = SimTime::zero(); }

 private:
  friend class Processors;
  enum class State : uint8_t { kIdle, kReady, kRunning, kHeld };

  State state_ = State::kIdle;
  bool is_held_ = false;
  uint32_t processor_ = 0;  // while running
  double weight_;
  double virtual_s_ = 0;
  SimTime remaining_;
  SimTime used_;
};

class Processors {
 public:
  Processors(pdes::EventQueue& events, const Scheduling& scheduling);
  Processors(const Processors&) = delete;
  Processors& operator=(const Processors&) = delete;

  // Lets an idle task compete for a processor. Does nothing for an active one.
  void make_ready(Task& task, SimTime now);
  // Takes the task off its processor and keeps it off until release().
  void hold(Task& task, SimTime now);
  void release(Task& task, SimTime now);

  // Adds what running tasks have used until now to Task::used() and busy().
  void charge(SimTime now);
  // Time used by all tasks and switches since the last reset.
  SimTime busy() const { return busy_; }
  void reset_busy() { busy_ = SimTime::zero(); }

 private:
  struct Processor : pdes::ConditionalEvent {
    void fire() override { processors->end_slice(*this); }
    Processors* processors = nullptr;
    Task* task = nullptr;
    const Task* last_task = nullptr;  // only compared
    SimTime begin;                    // of what has not been charged
    SimTime switch_left;              // of that, switching at its beginning
    SimTime slice_left;               // until another task may run
    bool is_unlimited = false;        // round robin: no task waits, so the event ignores quanta
    bool is_choosing = false;         // its task decides what to do next
  };
  struct Waiting {
    double virtual_s;
    uint64_t order;
    Task* task;
    // For a heap with the least first.
    bool operator<(const Waiting& other) const {
      return virtual_s != other.virtual_s ? virtual_s > other.virtual_s : order > other.order;
    }
  };

  void enqueue(Task& task);
  void limit_slices(SimTime now);
  Task* take_next();
  bool has_waiting() const { return fair_ ? !heap_.empty() : !queue_.empty(); }
  // Gives a free processor the next task, if there is one that has something to do.
  void fill(Processor& processor, SimTime now);
  // Gives the processor to the task; false if the task turns out to have nothing to do.
  bool dispatch(Processor& processor, Task& task, SimTime now);
  void start_slice(Processor& processor, SimTime now);
  void end_slice(Processor& processor);
  void charge(Processor& processor, SimTime now);
  SimTime ask(Processor& processor, SimTime now);
  Task& vacate(Processor& processor);
  SimTime slice_for(const Task& task) const;
  void wake_fairly(Task& task, SimTime now);
  void preempt_for(const Task& task, SimTime now);

  pdes::EventQueue& events_;
  const Scheduling scheduling_;
  const bool fair_;
  std::vector<Processor> processors_;
  std::vector<Processor*> free_;
  std::deque<Task*> queue_;    // round robin
  std::vector<Waiting> heap_;  // fair
  uint64_t next_order_ = 0;
  double least_virtual_s_ = 0;
  double active_weight_ = 0;  // of ready and running tasks
  SimTime busy_;
};

}  // namespace sesame::rocc
