#include "core/pdes/asynchronous.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"

namespace sesame::pdes {
namespace {

const int64_t kNever = SimTime::never().ps();

// SharedState::pending has the number of the round above the count, so that a worker becomes busy
// only in the round in which it became idle.
constexpr int kRoundShift = 32;

int64_t round_of(int64_t pending) { return pending >> kRoundShift; }
int64_t count_of(int64_t pending) { return pending & ((int64_t{1} << kRoundShift) - 1); }

int64_t sum(int64_t time_ps, int64_t duration_ps) {
  return time_ps >= kNever - duration_ps ? kNever : time_ps + duration_ps;
}

}  // namespace

AsynchronousProtocol::AsynchronousProtocol(Worker& worker, Executive& executive,
                                           Announcements announcements, SimTime look_ahead,
                                           Worker::Take take)
    : WorkerSynchronizer(worker, executive, std::move(take)),
      announcements_(announcements),
      look_ahead_ps_(look_ahead.ps()) {
  CHECK(announcements.null_messages || announcements.conditional_events);
  CHECK(look_ahead_ps_ > 0);
}

bool AsynchronousProtocol::synchronize(const SimTime& earliest) {
  earliest_ps_ = earliest.ps();
  next_send_ps_ = next_send_ ? next_send_().ps() : 0;
  round_ = round_of(worker_.state().pending);
  if (earliest_ps_ == kNever) return await_step() == Step::kContinue;
  ++mine().queries;
  ++worker_.state().waiting;
  if (announcements_.null_messages) worker_.memory().ring_all();  // others announce from now on
  const Step step = await_step();
  --worker_.state().waiting;
  return step == Step::kContinue;
}

// In the order of advance(): frames that the input time does not cover are in the rings.
void AsynchronousProtocol::catch_up(const SimTime& earliest) {
  earliest_ps_ = earliest.ps();
  next_send_ps_ = next_send_ ? next_send_().ps() : 0;
  const int64_t input = input_ps();
  if (!worker_.take_frames(take_)) announce_output(input);
}

AsynchronousProtocol::Step AsynchronousProtocol::await_step() {
  const WaitingTime waiting(worker_);
  // After an announcement an answer may come soon: it begins to wait anew.
  for (Step step = Step::kWait;;) {
    const uint64_t announced = mine().null_messages;
    worker_.wait_until([&] {
      step = advance();
      return step != Step::kWait || mine().null_messages != announced;
    });
    if (step != Step::kWait) return step;
  }
}

AsynchronousProtocol::Step AsynchronousProtocol::advance() {
  const SharedState& state = worker_.state();
  if (is_stopped()) return Step::kEnd;
  // The order of these three matters: frames sent before an announcement are in the ring when it is
  // read, and a frame of the next round is not seen before the end of this one.
  const int64_t input = input_ps();
  const bool any_arrived = has_arrivals();
  if (round_of(state.pending) != round_) {
    is_idle_ = false;
    allow_until(mine().bound_ps);
    return state.finished ? Step::kEnd : Step::kContinue;
  }
  if (any_arrived) return resume();
  if (executive_.has_outside_call() && become_busy()) return Step::kContinue;
  announce_output(input);
  if (earliest_ps_ < input && become_busy()) {
    allow_until(input);
    return Step::kContinue;
  }
  // With null messages alone, a worker that has an event waits for others to announce more.
  if (announcements_.conditional_events || earliest_ps_ == kNever) become_idle();
  return Step::kWait;
}

void AsynchronousProtocol::allow_until(int64_t bound_ps) {
  bound_ps_ = std::max(bound_ps_, bound_ps);
  executive_.allow_until(SimTime::from_ps(bound_ps_));
}

// A frame that is not taken is pending, so the round does not end meanwhile.
AsynchronousProtocol::Step AsynchronousProtocol::resume() {
  if (is_idle_) worker_.state().pending.fetch_add(1);
  is_idle_ = false;
  return take_next_frame() ? Step::kContinue : Step::kEnd;
}

// The earliest input time: no frame that is not in a ring yet has an effect before it.
int64_t AsynchronousProtocol::input_ps() {
  if (!announcements_.null_messages) return bound_ps_;
  SharedState& state = worker_.state();
  int64_t input = kNever;
  for (int i = 0; i < worker_.memory().workers(); ++i) {
    if (i == worker_.number()) continue;
    input = std::min(input, state.workers[i].output_ps.load());
  }
  return std::max(input, bound_ps_);
}

int64_t AsynchronousProtocol::effect_of(int64_t cause_ps) const {
  return sum(std::max(cause_ps, next_send_ps_), look_ahead_ps_);
}

// A null message to all others, if it tells them something new.
void AsynchronousProtocol::announce_output(int64_t input_ps) {
  if (!announcements_.null_messages || worker_.state().waiting == 0) return;
  const int64_t output = effect_of(std::min(earliest_ps_, input_ps));
  if (output <= mine().output_ps.load(std::memory_order_relaxed)) return;
  mine().output_ps.store(output);
  ++mine().null_messages;
  worker_.memory().ring_all();
}

void AsynchronousProtocol::become_idle() {
  if (is_idle_) return;
  is_idle_ = true;
  mine().earliest_ps = earliest_ps_;
  mine().conditional_ps = earliest_ps_ == kNever ? kNever : effect_of(earliest_ps_);
  if (count_of(worker_.state().pending.fetch_sub(1)) == 1) end_round();
}

// False if the round ends, which makes all workers busy.
bool AsynchronousProtocol::become_busy() {
  if (!is_idle_) return true;
  int64_t pending = worker_.state().pending;
  do {
    if (round_of(pending) != round_ || count_of(pending) == 0) return false;
  } while (!worker_.state().pending.compare_exchange_weak(pending, pending + 1));
  is_idle_ = false;
  return true;
}

// All workers are idle and no frame is on its way: only the announced events can still happen. A
// worker's next frame comes from such an event of another worker, or is an answer to the effect of
// one of its own.
void AsynchronousProtocol::end_round() {
  SharedState& state = worker_.state();
  const int workers = worker_.memory().workers();
  const bool is_over = std::all_of(state.workers, state.workers + workers,
                                   [](const auto& one) { return one.earliest_ps == kNever; });
  state.end_if(is_over);
  for (int i = 0; i < workers && !is_over; ++i) {
    int64_t input = sum(state.workers[i].conditional_ps, look_ahead_ps_);
    for (int j = 0; j < workers; ++j)
      if (j != i) input = std::min(input, state.workers[j].conditional_ps.load());
    state.workers[i].bound_ps = input;
  }
  ++state.round;
  state.pending = (round_ + 1) << kRoundShift | workers;  // busy again
  worker_.memory().ring_all();
}

}  // namespace sesame::pdes
