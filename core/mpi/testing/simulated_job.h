// For tests: a job of simulated ranks in memory.
//
// Use: SimulatedJob job(4); job.run([](int rank) { Send(...); EXPECT_EQ(self().now, ...); }); Each
// rank runs the function on its own fiber after MPI_Init; compute time is zero. Functions of the
// simulated MPI (core/mpi/api.h) are called directly, so that they return their error and call no
// error handler. Collectives use MPICH's algorithms, with SESAME_TEST_COLLECTIVES=openmpi in the
// environment Open MPI's. Also defines callbacks(): functions of user operations have the type
// OpFunction, other callbacks have those of C. One job at a time, one thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/base/units.h"
#include "core/machine/machine.h"
#include "core/mpi/messages/world.h"

namespace sesame::mpi::testing {

// The [network] of a machine file, a crossbar: latency 2 us with overheads of 0.3 and 0.4 us, 1
// GB/s, gap 0.1 us, no rendezvous. A self-message costs the same.
extern const char* const kCrossbar;
// The same with rendezvous above 1,000 bytes and 5 us of latency there.
extern const char* const kCrossbarWithRendezvous;

struct Run;

class SimulatedJob {
 public:
  // `network` is the part of a machine file that begins with [network]; `cores` ranks share a node.
  explicit SimulatedJob(int ranks, const std::string& network = kCrossbar, int cores = 1);
  ~SimulatedJob();

  // Runs `body` once on each rank and returns the simulated time at which the last one ended.
  // CHECKs that none is left blocked. The ranks keep their state from run to run.
  SimTime run(const std::function<void(int rank)>& body);

  // The same for a body that aborts the job: returns the message for the user, empty if no rank
  // did. No further run is possible.
  std::string run_until_abort(const std::function<void(int rank)>& body);

  World& world() { return world_; }
  // The warnings of the last job.
  const std::vector<std::string>& warnings() const;

 private:
  void run_until_end(Run& run);

  machine::Machine machine_;
  World world_;
  pdes::StackPool stacks_{512 * 1024};
  int ended_ = 0;
};

// A user operation from a function as above.
using OpFunction = void(const void* in, void* inout, Count count, Datatype datatype);
Op make_op(OpFunction* function, bool commutative);

}  // namespace sesame::mpi::testing
