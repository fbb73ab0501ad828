#include "core/pdes/quantum.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace sesame::pdes {

QuantumProtocol::QuantumProtocol(Worker& worker, Executive& executive, SimTime quantum,
                                 Worker::Take take)
    : worker_(worker), executive_(executive), quantum_(quantum), take_(std::move(take)) {}

void QuantumProtocol::delay() {
  if (!delays_ || (*delays_)() % 16 != 0) return;
  const timespec pause{0, static_cast<long>((*delays_)() % 5'000'000)};
  syscall(SYS_nanosleep, &pause, nullptr);
}

bool QuantumProtocol::synchronize(const SimTime& earliest) {
  delay();
  SharedState& state = worker_.state();
  if (state.stopped) return false;
  if (worker_.take_frames(take_)) return true;
  const uint64_t round = state.round;
  state.workers[worker_.number()].earliest_ps = earliest.ps();
  // From here on this worker is idle. The last one to become so ends the round.
  if (state.pending.fetch_sub(1) == 1) end_round();
  return await_round(round);
}

// Waits for the end of the round, or for a frame. A frame that is not taken keeps the round from
// ending.
bool QuantumProtocol::await_round(uint64_t round) {
  SharedState& state = worker_.state();
  for (int attempt = 0; state.round.load(std::memory_order_acquire) == round; ++attempt) {
    if (state.stopped.load(std::memory_order_relaxed)) return false;
    if (worker_.has_arrivals()) {
      state.pending.fetch_add(1);
      while (!worker_.take_frames(take_) && !state.stopped) wait_a_moment(attempt++);
      return !state.stopped;
    }
    wait_a_moment(attempt);
  }
  if (state.finished) return false;
  executive_.allow_until(SimTime::from_ps(state.bound_ps));
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
  if (!state.finished) state.bound_ps = (SimTime::from_ps(earliest_ps) + quantum_).ps();
  state.pending = workers;  // busy again
  state.round.fetch_add(1, std::memory_order_release);
}

}  // namespace sesame::pdes
