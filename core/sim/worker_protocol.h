// The protocol of a parallel simulation (core/pdes), made as the scenario says.
//
// Use: check_protocol() before anything runs; make_protocol() in each worker.
#pragma once

#include <functional>
#include <memory>

#include "core/base/error.h"
#include "core/base/sim_time.h"
#include "core/machine/machine.h"
#include "core/pdes/executive.h"
#include "core/pdes/workers.h"
#include "core/sim/scenario.h"

namespace sesame::sim {

// The Error says which protocols there are, where expected sources are of no use, that the quantum
// needs `inexact`, or that null messages do not know when the machine's cards and its network's
// collectives send.
Result<> check_protocol(const Scenario& scenario, const machine::Machine& machine,
                        SimTime look_ahead);
// How long a round of the protocol quantum is.
SimTime quantum_of(const Scenario& scenario, SimTime look_ahead);
// Whether workers announce when their ranks can send next.
bool has_null_messages(const Scenario& scenario);

// `take` delivers a frame of another worker, `next_send` is as AsynchronousProtocol has it.
// REQUIRES: check_protocol() found nothing.
std::unique_ptr<pdes::Synchronizer> make_protocol(const Scenario& scenario, SimTime look_ahead,
                                                  pdes::Worker& worker, pdes::Executive& executive,
                                                  pdes::Worker::Take take,
                                                  std::function<SimTime()> next_send);

}  // namespace sesame::sim
