// Charges a rank for its computation between calls.
//
// Use: charge_compute(self(), end) where the program has called something; then resume_compute().
// CallScope (call.h) does so for MPI calls. These are for clocks and sleeps that the program calls,
// calls on files, and the end of the program. Nothing is charged unless World::meter's mode says
// so.
#pragma once

#include "core/base/sim_time.h"
#include "core/mpi/messages/measured_compute.h"
#include "core/mpi/messages/strand.h"

namespace sesame::mpi {

// Polls with less computation than this between them count as one wait.
inline constexpr SimTime kIdleWork = SimTime::from_ns(2000);

// Charges the running strand for the computation up to now and returns the simulated time of it.
SimTime charge_compute(Strand& strand, ComputeEnd end);
// Restarts the measurement of computation.
void resume_compute(Strand& strand);
// The same as charge_compute() before a poll outside of MPI. If the program has computed for more
// than kIdleWork since its last poll, this poll starts a new wait (see charge_idle_poll).
void charge_compute_before_poll(Strand& strand, ComputeEnd end);

// Charges the measured time less `polled`, the time at its end in which the program only polled
// memory. Does nothing unless computation is measured.
void charge_before_polling(Strand& strand, SimTime polled);

}  // namespace sesame::mpi
