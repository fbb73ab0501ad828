#include "core/rocc/process.h"

#include <algorithm>

namespace sesame::rocc {

Process::Process(NodeResources& node, const ProcessClass& kind,
                 const Instrumentation& instrumentation, Pipe* pipe, StreamName stream)
    : Task(kind.weight),
      node_(node),
      kind_(kind),
      instrumentation_(instrumentation),
      pipe_(pipe),
      work_(stream),
      writing_({stream.seed, stream.replication, stream.node, stream.source + 1}) {
  if (pipe_ == nullptr || instrumentation.sampling_period == SimTime::zero()) return;
  // Sampling begins at a random phase, the same share of any period.
  next_sample_ =
      SimTime::from_seconds(writing_.uniform() * instrumentation.sampling_period.seconds());
}

void Process::begin_cycle(SimTime now) {
  if (!kind_.cpu.is_nothing()) {
    ready_since_ = now;
    node_.processors.make_ready(*this, now);
  } else {
    ++sums_.completed;
    begin_stage(now, kNetwork);
  }
}

SimTime Process::begin_request() {
  state_ = State::kComputing;
  return kind_.cpu.draw(work_);
}

SimTime Process::next_demand(SimTime now) {
  if (state_ == State::kIdle) return begin_request();
  if (state_ == State::kComputing) {
    ++sums_.completed;
    sums_.response += now - ready_since_;
    if (pipe_ == nullptr) return leave_processor(now);
    count_due(now);
    if (due_ > 0 && !instrumentation_.sample_cpu.is_nothing()) {
      SimTime demand;
      for (uint32_t i = 0; i < due_; ++i) demand += instrumentation_.sample_cpu.draw(writing_);
      state_ = State::kWriting;
      sums_.writing_cpu += demand;
      return demand;
    }
  }
  return write_all(now);
}

void Process::count_due(SimTime now) {
  records_due_ += instrumentation_.records_per_request;
  due_ = static_cast<uint32_t>(records_due_);
  records_due_ -= due_;
  if (now < next_sample_) return;
  const int64_t period = instrumentation_.sampling_period.ps();
  const int64_t periods = (now - next_sample_).ps() / period + 1;
  next_sample_ += SimTime::from_ps(period) * periods;
  sums_.missed += static_cast<uint64_t>(periods - 1);
  ++due_;
}

SimTime Process::write_all(SimTime now) {
  for (; due_ > 0; --due_) {
    if (pipe_->write(*this, now)) continue;
    state_ = State::kBlocked;
    blocked_since_ = now;
    return SimTime::zero();
  }
  return leave_processor(now);
}

void Process::resume_writing(SimTime now) {
  if (state_ != State::kBlocked) return;
  while (due_ > 0 && pipe_->write(*this, now)) --due_;
  if (due_ > 0) return;
  sums_.blocked += now - blocked_since_;
  state_ = State::kIdle;
  if (!begin_stage(now, kNetwork)) begin_cycle(now);
}

SimTime Process::leave_processor(SimTime now) {
  state_ = State::kIdle;
  if (begin_stage(now, kNetwork)) return SimTime::zero();
  ready_since_ = now;
  return begin_request();
}

bool Process::begin_stage(SimTime now, uint64_t first) {
  if (first <= kNetwork && !kind_.network.is_nothing()) {
    node_.network.request(now, kind_.network.draw(work_), *this, kNetwork);
    return true;
  }
  if (first <= kDisk && !kind_.disk.is_nothing()) {
    node_.disk.request(now, kind_.disk.draw(work_), *this, kDisk);
    return true;
  }
  if (first <= kPause && !kind_.pause.is_nothing()) {
    node_.events.schedule(pause_, now + kind_.pause.draw(work_));
    return true;
  }
  return false;
}

void Process::served(SimTime now, uint64_t stage) {
  if (!begin_stage(now, stage + 1)) begin_cycle(now);
}

ClassStatistics Process::statistics(SimTime now) const {
  ClassStatistics sums = sums_;
  sums.own_cpu = used() - std::min(used(), sums.writing_cpu);
  if (state_ == State::kBlocked) sums.blocked += now - blocked_since_;
  return sums;
}

void Process::reset(SimTime now) {
  sums_ = {};
  reset_used();
  blocked_since_ = now;
}

}  // namespace sesame::rocc
