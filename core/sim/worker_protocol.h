// The protocol of a parallel simulation (core/pdes), made as the scenario says.
//
// Use: check_protocol() before anything runs; make_protocol() in each worker.
#pragma once

#include <functional>
#include <memory>

#include "core/base/error.h"
#include "core/network/network.h"
#include "core/pdes/executive.h"
#include "core/pdes/workers.h"
#include "core/sim/scenario.h"

namespace sesame::sim {

// The Error says which protocols there are, or that the quantum needs `inexact`.
Result<> check_protocol(const Scenario& scenario, const network::Network& network);

// `take` delivers a frame of another worker, `next_send` is as AsynchronousProtocol has it.
// REQUIRES: check_protocol() found nothing.
std::unique_ptr<pdes::Synchronizer> make_protocol(const Scenario& scenario,
                                                  const network::Network& network,
                                                  pdes::Worker& worker, pdes::Executive& executive,
                                                  pdes::Worker::Take take,
                                                  std::function<SimTime()> next_send);

}  // namespace sesame::sim
