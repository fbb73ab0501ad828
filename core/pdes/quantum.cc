#include "core/pdes/quantum.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"

namespace sesame::pdes {

QuantumProtocol::QuantumProtocol(Worker& worker, Executive& executive, SimTime quantum,
                                 Worker::Take take)
    : WorkerSynchronizer(worker, executive, std::move(take)), quantum_(quantum) {}

bool QuantumProtocol::synchronize(const SimTime&) {
  SharedState& state = worker_.state();
  if (state.stopped) return false;
  if (worker_.take_frames(take_)) return true;
  const uint64_t round = state.round;
  publish_first_events();
  // From here on this worker is idle. The last one to become so ends the round.
  if (state.pending.fetch_sub(1) == 1 && gives_turns()) end_round();
  return await_round(round);
}

// Waits for the end of the round, for a frame, or for a call from outside the simulation. A frame
// that is not taken keeps the round from ending. It may also be one of the next round already.
bool QuantumProtocol::await_round(uint64_t round) {
  SharedState& state = worker_.state();
  const WaitingTime waiting(worker_);
  const auto has_ended = [&] { return state.round.load() != round; };
  for (;;) {
    worker_.wait_until([&] {
      return has_ended() || is_stopped() || has_arrivals() || executive_.has_outside_call();
    });
    if (has_ended()) break;
    if (is_stopped()) return false;
    if (has_arrivals() && !has_ended()) return resume();
    if (executive_.has_outside_call() && become_busy(state, round)) return true;
  }
  if (state.finished) return false;
  executive_.allow_until(SimTime::from_ps(state.bound_ps));
  executive_.allow_turn({state.turn_ps, state.turn_order});
  return true;
}

// The worker is busy again. A part of the frame may still have to arrive.
bool QuantumProtocol::resume() {
  worker_.state().pending.fetch_add(1);
  return take_next_frame();
}

// The next round may begin between the look at the count and its change; but then `ending` has
// changed before, and this worker is counted already.
bool become_busy(SharedState& state, uint64_t round) {
  int64_t pending = state.pending;
  do {
    if (pending == 0) return false;
  } while (!state.pending.compare_exchange_weak(pending, pending + 1));
  if (state.ending.load() == round) return true;
  state.pending.fetch_sub(1);
  return false;
}

void QuantumProtocol::publish_first_events() {
  SharedState::OfWorker& mine = worker_.state().workers[worker_.number()];
  const EventKey first = executive_.events().first();
  mine.earliest_ps = first.time_ps;
  mine.earliest_order = first.order;
  mine.model_ps = executive_.first_model_event().time_ps;
}

// All workers are idle and no frame is on its way. Model events may fire up to the first other
// event of all workers, `first`. If none of them ends the turn, `first` may then fire in the same
// round, if it is exclusive or its worker waits for a model, and change the models. This is the
// same order in all workers, although some may be slower:
// - A worker fires its model events before it takes frames of the round. While it waits it looks at
//   the round after it has seen a frame, and takes none that was sent after the round ended.
// - A frame that changes a model ends the turn: no model event after `first` fires in this round.
// A model event that completes a request ends the turn, too, in all workers: the rank that wakes
// may do something before `first`.
void QuantumProtocol::end_round() {
  SharedMemory& memory = worker_.memory();
  const EventKey model = executive_.first_model_event();
  for (int i = 0; i < memory.workers(); ++i)
    CHECK(memory.state().workers[i].model_ps == model.time_ps);
  begin_round(memory, next_round(first_event(memory), model, quantum_));
}

EventKey first_event(SharedMemory& memory) {
  const SharedState& state = memory.state();
  EventKey first;
  for (int i = 0; i < memory.workers(); ++i) {
    const SharedState::OfWorker& one = state.workers[i];
    if (memory.is_here(i)) first = std::min(first, EventKey{one.earliest_ps, one.earliest_order});
  }
  return first;
}

Round next_round(const EventKey& first, const EventKey& model, SimTime quantum) {
  const int64_t last_ps = SimTime::never().ps() - quantum.ps();  // no overflow
  Round round;
  round.finished = first == EventKey::never() && model == EventKey::never();
  round.turn = first;
  round.bound_ps = model < first ? 0 : std::min(first.time_ps, last_ps) + quantum.ps();
  return round;
}

void begin_round(SharedMemory& memory, const Round& round) {
  SharedState& state = memory.state();
  state.end_if(round.finished);
  const EventKey turn = round.finished ? EventKey{INT64_MIN, 0} : round.turn;
  state.turn_ps = turn.time_ps;
  state.turn_order = turn.order;
  if (!round.finished) state.bound_ps = round.bound_ps;
  state.ending.fetch_add(1);
  state.pending = state.count_here;
  state.round.fetch_add(1);
  memory.ring_all();
}

}  // namespace sesame::pdes
