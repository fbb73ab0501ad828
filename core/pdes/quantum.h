// The quantum protocol: all workers simulate until nothing can happen before a common bound, and
// agree on the next one, Q after the earliest event of all. It is exact if Q is at most the
// look-ahead: an event at time t affects another worker no earlier than t + look-ahead. Models of
// which all workers have copies take turns with what uses them (Executive::allow_turn()): their
// events before the first other event of all workers may fire, then this one.
//
// Use: one object for each worker, as the synchronizer of its executive. `take` delivers a frame of
// another worker. One thread each. Where workers are on several hosts, the last worker of a host
// that becomes idle leaves the end of the round to the host's Bridge (bridge.h), and there are no
// turns.
#pragma once

#include "core/pdes/executive.h"
#include "core/pdes/worker_synchronizer.h"
#include "core/pdes/workers.h"

namespace sesame::pdes {

// What the end of a round decides.
struct Round {
  int64_t bound_ps = 0;
  EventKey turn;
  bool finished = false;  // no event is left
};

// The first event of this host's workers, which are all idle.
EventKey first_event(SharedMemory& memory);
// `first`: of all workers. `model`: the first event of the models.
Round next_round(const EventKey& first, const EventKey& model, SimTime quantum);
// Ends the round: this host's workers are busy again.
void begin_round(SharedMemory& memory, const Round& round);

// The worker, which is idle since this round, is busy again, without a frame that keeps the round
// from ending. False: the round ends or has ended, which makes all workers busy.
bool become_busy(SharedState& state, uint64_t round);

class QuantumProtocol final : public WorkerSynchronizer {
 public:
  QuantumProtocol(Worker& worker, Executive& executive, SimTime quantum, Worker::Take take);

  bool synchronize(const SimTime& earliest) override;
  bool gives_turns() const override { return !worker_.memory().is_on_several_hosts(); }

 private:
  bool await_round(uint64_t round);
  bool resume();
  void publish_first_events();
  void end_round();

  SimTime quantum_;
};

}  // namespace sesame::pdes
