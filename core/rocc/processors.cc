#include "core/rocc/processors.h"

#include <algorithm>

#include "core/base/check.h"

namespace sesame::rocc {
namespace {

constexpr double kNormalWeight = 1024;

}  // namespace

Processors::Processors(pdes::EventQueue& events, const Scheduling& scheduling)
    : events_(events),
      scheduling_(scheduling),
      fair_(scheduling.fair),
      processors_(scheduling.processors) {
  for (Processor& processor : processors_) processor.processors = this;
  for (size_t i = processors_.size(); i-- > 0;) free_.push_back(&processors_[i]);
}

void Processors::make_ready(Task& task, SimTime now) {
  if (task.is_active()) return;
  if (task.is_held_) {
    task.state_ = Task::State::kHeld;
    return;
  }
  active_weight_ += task.weight_;
  if (fair_) wake_fairly(task, now);
  if (!free_.empty()) {
    Processor& processor = *free_.back();
    free_.pop_back();
    if (!dispatch(processor, task, now)) fill(processor, now);
    return;
  }
  if (!fair_ && queue_.empty()) limit_slices(now);
  enqueue(task);
  if (fair_) preempt_for(task, now);
}

void Processors::hold(Task& task, SimTime now) {
  task.is_held_ = true;
  if (task.state_ != Task::State::kRunning) return;
  Processor& processor = processors_[task.processor_];
  // A task whose request ends now finishes it: its event is due.
  if (processor.is_choosing || !processor.is_scheduled()) return;
  charge(processor, now);
  if (task.remaining_ == SimTime::zero()) return;
  events_.withdraw(processor);
  vacate(processor).state_ = Task::State::kHeld;
  active_weight_ -= task.weight_;
  fill(processor, now);
}

void Processors::release(Task& task, SimTime now) {
  task.is_held_ = false;
  if (task.state_ != Task::State::kHeld) return;
  task.state_ = Task::State::kIdle;
  make_ready(task, now);
}

void Processors::charge(SimTime now) {
  for (Processor& processor : processors_) {
    if (processor.task != nullptr && processor.is_scheduled()) charge(processor, now);
  }
}

void Processors::charge(Processor& processor, SimTime now) {
  SimTime elapsed = now - processor.begin;
  busy_ += elapsed;
  processor.begin = now;
  const SimTime switching = std::min(elapsed, processor.switch_left);
  processor.switch_left -= switching;
  elapsed -= switching;
  Task& task = *processor.task;
  task.used_ += elapsed;
  task.remaining_ -= elapsed;
  processor.slice_left -= elapsed;
  if (processor.slice_left < SimTime::zero()) {  // quanta have passed while no task waited
    const int64_t left = processor.slice_left.ps() % scheduling_.quantum.ps();
    processor.slice_left = SimTime::from_ps(left) + scheduling_.quantum;
    if (left == 0) processor.slice_left = SimTime::zero();
  }
  if (fair_) task.virtual_s_ += elapsed.seconds() * kNormalWeight / task.weight_;
}

void Processors::enqueue(Task& task) {
  task.state_ = Task::State::kReady;
  if (fair_) {
    heap_.push_back({task.virtual_s_, next_order_++, &task});
    std::push_heap(heap_.begin(), heap_.end());
  } else {
    queue_.push_back(&task);
  }
}

// Makes tasks that ran alone yield at the end of the quantum that they would be in now.
void Processors::limit_slices(SimTime now) {
  for (Processor& processor : processors_) {
    if (!processor.is_unlimited || !processor.is_scheduled()) continue;
    charge(processor, now);
    if (processor.task->remaining_ == SimTime::zero()) continue;
    if (processor.slice_left == SimTime::zero()) processor.slice_left = scheduling_.quantum;
    processor.is_unlimited = false;
    const SimTime runs = std::min(processor.task->remaining_, processor.slice_left);
    events_.schedule(processor, now + processor.switch_left + runs);
  }
}

Task* Processors::take_next() {
  while (has_waiting()) {
    Task* task;
    if (fair_) {
      std::pop_heap(heap_.begin(), heap_.end());
      task = heap_.back().task;
      heap_.pop_back();
      least_virtual_s_ = std::max(least_virtual_s_, task->virtual_s_);
    } else {
      task = queue_.front();
      queue_.pop_front();
    }
    if (!task->is_held_) return task;
    task->state_ = Task::State::kHeld;
    active_weight_ -= task->weight_;
  }
  return nullptr;
}

void Processors::fill(Processor& processor, SimTime now) {
  while (Task* task = take_next()) {
    if (dispatch(processor, *task, now)) return;
  }
  free_.push_back(&processor);
}

bool Processors::dispatch(Processor& processor, Task& task, SimTime now) {
  task.state_ = Task::State::kRunning;
  task.processor_ = static_cast<uint32_t>(&processor - processors_.data());
  processor.task = &task;
  processor.begin = now;
  processor.switch_left =
      processor.last_task == &task ? SimTime::zero() : scheduling_.context_switch;
  processor.last_task = &task;
  if (task.remaining_ == SimTime::zero()) task.remaining_ = ask(processor, now);
  if (task.remaining_ == SimTime::zero()) {
    active_weight_ -= task.weight_;
    vacate(processor);
    return false;
  }
  processor.slice_left = slice_for(task);
  start_slice(processor, now);
  return true;
}

void Processors::start_slice(Processor& processor, SimTime now) {
  SimTime runs = processor.task->remaining_;
  processor.is_unlimited = !fair_ && !has_waiting();
  if (!processor.is_unlimited) runs = std::min(runs, processor.slice_left);
  events_.schedule(processor, now + processor.switch_left + runs);
}

SimTime Processors::ask(Processor& processor, SimTime now) {
  processor.is_choosing = true;
  const SimTime demand = processor.task->next_demand(now);
  processor.is_choosing = false;
  return demand;
}

Task& Processors::vacate(Processor& processor) {
  Task& task = *processor.task;
  task.state_ = Task::State::kIdle;
  processor.task = nullptr;
  return task;
}

void Processors::end_slice(Processor& processor) {
  const SimTime now = processor.time();
  Task& task = *processor.task;
  charge(processor, now);
  if (task.remaining_ == SimTime::zero()) task.remaining_ = ask(processor, now);
  if (task.remaining_ == SimTime::zero() || task.is_held_) {
    active_weight_ -= task.weight_;
    vacate(processor);
    if (task.remaining_ != SimTime::zero()) task.state_ = Task::State::kHeld;
    fill(processor, now);
    return;
  }
  if (processor.slice_left == SimTime::zero()) {
    if (has_waiting()) {
      vacate(processor);
      enqueue(task);
      fill(processor, now);
      return;
    }
    processor.slice_left = slice_for(task);
  }
  start_slice(processor, now);
}

SimTime Processors::slice_for(const Task& task) const {
  if (!fair_) return scheduling_.quantum;
  const double share = task.weight_ * static_cast<double>(processors_.size()) / active_weight_;
  const auto slice = SimTime::from_seconds(scheduling_.period.seconds() * std::min(1.0, share));
  return std::max(slice, scheduling_.granularity);
}

void Processors::wake_fairly(Task& task, SimTime now) {
  charge(now);
  double least = INFINITY;
  for (const Processor& processor : processors_) {
    if (processor.task != nullptr) least = std::min(least, processor.task->virtual_s_);
  }
  if (!heap_.empty()) least = std::min(least, heap_.front().virtual_s);
  if (least < INFINITY) least_virtual_s_ = std::max(least_virtual_s_, least);
  const double credit = scheduling_.period.seconds() / 2;
  task.virtual_s_ = std::max(task.virtual_s_, least_virtual_s_ - credit);
}

void Processors::preempt_for(const Task& task, SimTime now) {
  Processor* furthest = nullptr;
  for (Processor& processor : processors_) {
    if (processor.is_choosing || !processor.is_scheduled()) continue;
    if (processor.task->remaining_ == SimTime::zero()) continue;
    if (furthest == nullptr || processor.task->virtual_s_ > furthest->task->virtual_s_) {
      furthest = &processor;
    }
  }
  const double lead = scheduling_.granularity.seconds() * kNormalWeight / task.weight_;
  if (furthest == nullptr || furthest->task->virtual_s_ - task.virtual_s_ <= lead) return;
  events_.withdraw(*furthest);
  enqueue(vacate(*furthest));
  fill(*furthest, now);
}

}  // namespace sesame::rocc
