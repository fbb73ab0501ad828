#include "core/mpi/calls/charge.h"

#include "core/mpi/messages/world.h"

namespace sesame::mpi {
namespace {

// `host`: as measured or recorded, `target`: simulated.
void charge(Strand& strand, const SimTime& host, const SimTime& target) {
  Rank& rank = *strand.rank;
  if (rank.computing != nullptr)
    rank.computing->add(plain(strand.now), plain(strand.now) + plain(target));
  strand.now += target;
  rank.computed += target;
  rank.compute_before_call += host;
}

}  // namespace

SimTime charge_compute(Strand& strand, ComputeEnd end) {
  Rank& rank = *strand.rank;
  const ComputeMeter& meter = rank.world.meter;
  SimTime host;
  SimTime target;
  switch (meter.options().mode) {
    case ComputeMode::kMeasured:
      host = rank.world.meter.measure();
      target = meter.scale(host, rank.slowdown);
      break;
    case ComputeMode::kNone:
      return SimTime::zero();
    case ComputeMode::kFixed:
      if (end == ComputeEnd::kCall) target = meter.options().fixed;
      break;
    case ComputeMode::kRecorded:
      host = rank.recorded.take(end);
      target = meter.scale(host, rank.slowdown);
      break;
  }
  charge(strand, host, target);
  return target;
}

void charge_compute_before_poll(Strand& strand, ComputeEnd end) {
  if (charge_compute(strand, end) > kIdleWork) strand.idle_polls = 0;
}

void charge_before_polling(Strand& strand, SimTime polled) {
  Rank& rank = *strand.rank;
  if (rank.world.meter.options().mode != ComputeMode::kMeasured) return;
  const SimTime measured = rank.world.meter.measure();
  if (measured <= polled) return;
  const SimTime host = measured - polled;
  charge(strand, host, rank.world.meter.scale(host, rank.slowdown));
}

// For the player of a traced run (core/player): charges the computation recorded before a call on a
// file, which is no MPI call. The computation is added to the record of the next MPI call. The call
// profile does not change. Returns the rank.
extern "C" [[gnu::used, gnu::visibility("default")]] int sesame_charge_computation() {
  Strand& strand = self();
  charge_compute_before_poll(strand, ComputeEnd::kCall);
  resume_compute(strand);
  return strand.rank->id;
}

void resume_compute(Strand& strand) { strand.rank->world.meter.resume(); }

}  // namespace sesame::mpi
