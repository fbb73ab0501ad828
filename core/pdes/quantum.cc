#include "core/pdes/quantum.h"

#include <algorithm>
#include <utility>

namespace sesame::pdes {

QuantumProtocol::QuantumProtocol(Worker& worker, Executive& executive, SimTime quantum,
                                 Worker::Take take)
    : worker_(worker), executive_(executive), quantum_(quantum), take_(std::move(take)) {}

bool QuantumProtocol::synchronize(const SimTime& earliest) {
  SharedState& state = worker_.state();
  if (state.stopped) return false;
  if (worker_.take_frames(take_)) return true;
  const uint64_t round = state.round;
  state.workers[worker_.number()].earliest_ps = earliest.ps();
  // From here on this worker is idle. The last one to become so ends the round.
  if (state.pending.fetch_sub(1) == 1) end_round();
  return await_round(round);
}

// Waits for the end of the round, or for a frame: one that is not taken keeps the round from
// ending. A frame may also be one of the next round already.
bool QuantumProtocol::await_round(uint64_t round) {
  SharedState& state = worker_.state();
  const WaitingTime waiting(worker_);
  const auto has_ended = [&] { return state.round.load(std::memory_order_acquire) != round; };
  for (int attempt = 0; !has_ended(); wait_a_moment(attempt++)) {
    if (state.stopped.load(std::memory_order_relaxed)) return false;
    if (worker_.has_arrivals() && !has_ended()) return resume();
  }
  if (state.finished) return false;
  executive_.allow_until(SimTime::from_ps(state.bound_ps));
  return true;
}

// The worker is busy again. A part of the frame may still have to arrive.
bool QuantumProtocol::resume() {
  SharedState& state = worker_.state();
  state.pending.fetch_add(1);
  for (int attempt = 0; !worker_.take_frames(take_); wait_a_moment(attempt++))
    if (state.stopped) return false;
  return true;
}

// All workers are idle and no frame is on its way.
void QuantumProtocol::end_round() {
  SharedState& state = worker_.state();
  const int workers = worker_.memory().workers();
  int64_t earliest_ps = SimTime::never().ps();
  for (int i = 0; i < workers; ++i)
    earliest_ps = std::min(earliest_ps, state.workers[i].earliest_ps.load());
  state.finished = earliest_ps == SimTime::never().ps();
  const int64_t last_ps = SimTime::never().ps() - quantum_.ps();  // no overflow
  if (!state.finished) state.bound_ps = std::min(earliest_ps, last_ps) + quantum_.ps();
  state.pending = workers;  // busy again
  state.round.fetch_add(1, std::memory_order_release);
}

}  // namespace sesame::pdes
