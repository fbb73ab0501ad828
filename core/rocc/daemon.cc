#include "core/rocc/daemon.h"

#include <algorithm>
#include <utility>

namespace sesame::rocc {
namespace {

StreamName further(StreamName stream, uint64_t number) {
  stream.source += number;
  return stream;
}

}  // namespace

Daemon::Daemon(NodeResources& node, const Model& model, MessageList& sent, StreamName stream)
    : Task(model.daemon.weight),
      node_(node),
      model_(model),
      kind_(model.daemon),
      sent_(sent),
      work_(stream),
      network_(further(stream, 1)),
      changes_(further(stream, 2)) {}

void Daemon::start(SimTime now) {
  if (!kind_.has_timer) return;
  const double period = model_.instrumentation.sampling_period.seconds();
  node_.events.schedule(timer_, now + SimTime::from_seconds(changes_.uniform() * period));
}

void Daemon::change_instrumentation(SimTime now) {
  changes_left_ += kind_.has_timer ? 1 : processes_.size();
  if (changes_left_ > 0) node_.processors.make_ready(*this, now);
}

bool Daemon::write(Process& process, SimTime now) {
  if (process.in_pipe == kind_.pipe) return false;
  ++process.in_pipe;
  samples_.push_back({&process, now});
  node_.processors.make_ready(*this, now);
  return true;
}

void Daemon::make_sample(SimTime now) {
  node_.events.schedule(timer_, now + model_.instrumentation.sampling_period);
  if (samples_.size() >= kind_.pipe) {
    ++sums_.lost;
    return;
  }
  samples_.push_back({nullptr, now});
  node_.processors.make_ready(*this, now);
}

SimTime Daemon::next_demand(SimTime now) {
  SimTime demand;
  do {
    finish(now);
    action_ = choose(now, &demand);
  } while (action_ != Action::kNone && demand == SimTime::zero());
  return demand;
}

void Daemon::finish(SimTime now) {
  switch (std::exchange(action_, Action::kNone)) {
    case Action::kCollect:
      collect(now);
      break;
    case Action::kForward:
      forward(now);
      break;
    case Action::kChange:
      finish_change(now);
      break;
    case Action::kNone:
      break;
  }
}

Daemon::Action Daemon::choose(SimTime now, SimTime* demand) {
  *demand = SimTime::zero();
  if (is_sending_ && kind_.waits_for_network) return Action::kNone;
  if (changes_left_ > 0) {
    *demand = begin_change(now);
    return Action::kChange;
  }
  if (batch_is_due(now)) {
    *demand = kind_.forward.draw(work_);
    return Action::kForward;
  }
  if (samples_.empty()) return Action::kNone;
  *demand = collect_demand();
  return Action::kCollect;
}

SimTime Daemon::collect_demand() {
  SimTime demand = kind_.collect.draw(work_);
  if (kind_.poll.is_nothing()) return demand;
  const auto pipes = static_cast<int64_t>(kind_.has_timer ? 1 : processes_.size());
  return demand + kind_.poll.draw(work_) * pipes;
}

void Daemon::collect(SimTime now) {
  const Sample sample = samples_.front();
  samples_.pop_front();
  ++sums_.collected;
  batch_.push_back(sample.made);
  if (kind_.batch_age > SimTime::zero() && batch_.size() == 1) {
    node_.events.schedule(age_limit_, later(now, sample.made + kind_.batch_age));
  }
  if (sample.process == nullptr) return;
  --sample.process->in_pipe;
  sample.process->resume_writing(now);
}

bool Daemon::batch_is_due(SimTime now) const {
  if (batch_.empty()) return false;
  if (batch_.size() >= kind_.batch_size) return true;
  return kind_.batch_age > SimTime::zero() && now >= batch_.front() + kind_.batch_age;
}

void Daemon::forward(SimTime now) {
  node_.events.withdraw(age_limit_);
  if (kind_.network.is_nothing()) {
    deliver(now, batch_);
    batch_.clear();
    return;
  }
  if (free_messages_.empty()) {
    free_messages_.push_back(messages_.size());
    messages_.emplace_back();
  }
  const uint64_t message = free_messages_.back();
  free_messages_.pop_back();
  messages_[message].swap(batch_);
  batch_.clear();
  is_sending_ = true;
  node_.network.request(now, kind_.network.draw(network_), *this, message);
}

void Daemon::served(SimTime now, uint64_t message) {
  deliver(now, messages_[message]);
  free_messages_.push_back(message);
  is_sending_ = free_messages_.size() < messages_.size();
  if (kind_.waits_for_network) node_.processors.make_ready(*this, now);
}

void Daemon::deliver(SimTime now, const std::vector<SimTime>& made) {
  const SimTime arrival = now + model_.latency;
  ages_.clear();
  for (const SimTime time : made) ages_.push_back(arrival - time);
  sent_.add(arrival, ages_);
  sums_.forwarded_samples += made.size();
  ++sums_.forwarded_messages;
}

SimTime Daemon::begin_change(SimTime now) {
  node_.events.withdraw(release_);
  if (!holds_processes_) {
    for (Process* process : processes_) node_.processors.hold(*process, now);
    holds_processes_ = true;
  }
  const auto others = static_cast<int64_t>(processes_.empty() ? 0 : processes_.size() - 1);
  return kind_.insertion.draw(changes_) + kind_.stop.draw(changes_) * others;
}

void Daemon::finish_change(SimTime now) {
  if (--changes_left_ > 0) return;
  if (kind_.change_time > SimTime::zero()) {
    node_.events.schedule(release_, now + kind_.change_time);
  } else {
    release_processes(now);
  }
}

void Daemon::release_processes(SimTime now) {
  holds_processes_ = false;
  for (Process* process : processes_) node_.processors.release(*process, now);
}

void Daemon::reset() {
  sums_ = {};
  reset_used();
}

}  // namespace sesame::rocc
