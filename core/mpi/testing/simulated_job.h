// For tests: a job of simulated ranks in memory. Each rank runs a function of the test on a fiber
// of its own between MPI_Init and MPI_Finalize; compute time does not count. Functions of the
// simulated MPI are called directly, so that they return their error and call no error handler.
// Also defines callbacks(): functions of the program are `void(const void* in, void* inout, Count
// count, Datatype)` for operations; other callbacks are those of C.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/base/units.h"
#include "core/mpi/messages/world.h"

namespace sesame::mpi::testing {

// One rank on each node of a crossbar: latency 2 us with overheads of 0.3 and 0.4 us, 1 GB/s, gap
// 0.1 us, no rendezvous. A self-message costs the same.
extern const char* const kCrossbar;
// The same with rendezvous above 1,000 bytes and 5 us of latency there.
extern const char* const kCrossbarWithRendezvous;

struct Run;

class SimulatedJob {
 public:
  // `network` is the part of a machine file that begins with [network]; `cores` ranks share a node.
  explicit SimulatedJob(int ranks, const std::string& network = kCrossbar, int cores = 1);
  ~SimulatedJob();

  // Runs `body` once on each rank; the ranks keep their state from run to run. CHECKs that none
  // is left blocked. Gives the simulated time at which the last of them ended.
  SimTime run(const std::function<void(int rank)>& body);

  // The same for a body that ends the job: the text for the user, empty if nobody did. No further
  // run is possible.
  std::string run_until_abort(const std::function<void(int rank)>& body);

  World& world() { return world_; }
  // What the user was told that did not end the job.
  const std::vector<std::string>& warnings() const;

 private:
  void run_until_end(Run& run);

  World world_;
  pdes::StackPool stacks_{512 * 1024};
  int ended_ = 0;
};

// A user operation from a function as above.
using OpFunction = void(const void* in, void* inout, Count count, Datatype datatype);
Op make_op(OpFunction* function, bool commutative);

}  // namespace sesame::mpi::testing
