// The hosts of a parallel simulation, for the supervisor of one of them: moves frames
// (core/pdes/bridge.h), progress, the reason to end, and at the end what the workers of a further
// host did, to the first host. There the states and records of its workers are then in the files of
// those workers, as if they had run there.
//
// Use: one in each supervisor. Call step() until the run has ended, and pause() when it did
// nothing. A further host calls send_results() at the end; the first one waits for is_complete().
// An Error says which host failed. One thread.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/sim_time.h"
#include "core/pdes/bridge.h"
#include "core/sim/scenario.h"
#include "core/sim/shared_run.h"

namespace sesame::sim {

// Tells the first host why this further one cannot simulate. Before there is a RunHosts.
void tell_first_host(const HostScenario& hosts, const Error& error);

class RunHosts {
 public:
  // `states`, `records`: by worker, of all hosts. All are used as long as this object.
  RunHosts(const Scenario& scenario, SimTime quantum, pdes::SharedMemory& memory, SharedRun& run,
           const std::vector<std::FILE*>& states, const std::vector<std::FILE*>& records);

  bool is_first() const { return hosts_.here == 0; }
  // " on host b"
  std::string place_of(int worker) const;
  Result<bool> step();
  void pause() { bridge_->pause(); }

  // In a worker, which has copies of them: a host that has ended must not seem to be connected.
  void close_connections();

  // Of a further host: tells how far its workers are.
  void tell_progress();
  // Sends what its workers did, when they have ended, and waits until it has arrived.
  Result<> send_results(double seconds_per_tick);
  // Sends this reason to end the run, and waits until the first host has broken off. The process
  // then has nothing more to do.
  void fail(const Error& error);

  // Of the first host: whether it has the results of all others.
  bool is_complete() const { return complete_ == hosts_.count() - 1; }
  // Of the workers of other hosts, s.
  double waited_seconds(int worker) const { return waited_seconds_[static_cast<size_t>(worker)]; }

 private:
  Result<> take(size_t peer, const pdes::BridgeMessage& message, std::span<const char> bytes);
  Result<> take_verdict(std::span<const char> bytes);
  Result<> take_progress(int worker, std::span<const char> bytes);
  Result<> take_end(size_t peer, int worker, std::span<const char> bytes);
  void tell_verdict();
  Result<> send_file(int worker, pdes::BridgeMessage::Kind kind, std::FILE* file);
  Result<> send_rest(size_t most_unsent);

  const HostScenario hosts_;
  const int workers_;
  pdes::SharedMemory& memory_;
  SharedRun& run_;
  const std::vector<std::FILE*>& states_;
  const std::vector<std::FILE*>& records_;
  std::unique_ptr<pdes::Bridge> bridge_;
  bool has_reported_verdict_ = false;
  std::optional<Error> failure_;  // of a further host, as the first one has it
  int complete_ = 0;              // hosts whose results have come
  bool has_arrived_ = false;      // what this further host sent
  std::vector<double> waited_seconds_;
};

}  // namespace sesame::sim
