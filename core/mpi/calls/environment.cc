// Initialising and finalising, clocks, memory and the name of the node (MPI 4.1, chapters 9, 11).
#include "core/mpi/calls/environment.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "core/mpi/api.h"
#include "core/mpi/calls/charge.h"
#include "core/mpi/communicators/connection.h"
#include "core/mpi/communicators/predefined.h"
#include "core/mpi/messages/arguments.h"
#include "core/mpi/messages/waiting.h"
#include "core/mpi/messages/world.h"
#include "core/mpi/objects/errors.h"

namespace sesame::mpi {
namespace {

// The time to read a clock: about that of the vDSO's clock_gettime on current x86-64 processors (20
// to 30 ns). It also lets loops that wait for a time end if computation is not charged.
constexpr SimTime kClockReadCost = SimTime::from_ns(25);

// A program that reads clocks many times without an MPI call may be waiting for memory that another
// rank changes. Its rank therefore yields once for this many reads, and at each sleep, so that the
// other ranks reach the same time.
constexpr int kReadsPerYield = 64;

// In fibers, only the thread that started the program may call; a call of another one ends the job
// with a message. MPI_THREAD_SERIALIZED is granted nevertheless: programs that refuse to run
// without it, such as CP2K, may still call from one thread only, as they do with OMP_NUM_THREADS=1.
int highest_thread_level = MPI_THREAD_SERIALIZED;

// Returns the level that the rank gets. If it is the first one of all, the run may begin again with
// ranks that have the level that it asks for.
int granted_level(const Rank& rank, int required) {
  const World& world = rank.world;
  if (required > highest_thread_level && required == MPI_THREAD_MULTIPLE &&
      world.hooks.begin_again_as_processes != nullptr &&
      std::ranges::none_of(world.ranks, [](const auto& other) { return other->initialized; }))
    world.hooks.begin_again_as_processes();
  return std::min(required, highest_thread_level);
}

void count_clock_reads(Strand& strand, int reads) {
  strand.clock_reads += reads;
  if (strand.clock_reads < kReadsPerYield) return;
  strand.clock_reads = 0;
  schedule_wake(strand, strand.now);
  strand.rank->world.executive.block();
}

// Charges `duration` for a clock read or a sleep. Inside MPI calls, which charge computation
// themselves, it does not yield, except in MPI_Wtime.
SimTime pass_time(SimTime duration, int reads) {
  Strand& strand = self();
  const bool is_own_call = strand.call == static_cast<uint16_t>(CallId::Wtime);
  if (strand.call_depth > (is_own_call ? 1 : 0)) return strand.now += duration;
  if (!is_own_call) charge_compute(strand, ComputeEnd::kClock);
  const SimTime now = strand.now += duration;
  count_clock_reads(strand, reads);
  if (!is_own_call) resume_compute(strand);
  return now;
}

}  // namespace

SimTime read_clock() { return pass_time(kClockReadCost, 1); }

void sleep_for(SimTime duration) { pass_time(duration, kReadsPerYield); }

void allow_thread_level(int level) { highest_thread_level = level; }

int Init(int*, char***) {
  int provided = 0;
  return Init_thread(nullptr, nullptr, MPI_THREAD_SINGLE, &provided);
}

int Init_thread(int*, char***, int required, int* provided) {
  Rank& rank = this_rank();
  if (rank.initialized) return fail(MPI_ERR_OTHER, "MPI_Init has been called already");
  rank.thread_level = granted_level(rank, required);
  create_world_communicators(rank);
  if (rank.job.parent_port >= 0) MPI_TRY(connect_to_parents(rank));
  rank.initialized = true;
  *provided = rank.thread_level;
  return MPI_SUCCESS;
}

int Finalize() {
  Rank& rank = this_rank();
  if (!rank.initialized || rank.finalized) {
    return fail(MPI_ERR_OTHER, rank.finalized ? "MPI_Finalize has been called already"
                                              : "MPI_Init has not been called");
  }
  const int error = delete_self_attributes(rank);
  rank.finalized = true;
  return error;
}

int Initialized(int* flag) {
  *flag = this_rank().initialized ? 1 : 0;
  return MPI_SUCCESS;
}

int Finalized(int* flag) {
  *flag = this_rank().finalized ? 1 : 0;
  return MPI_SUCCESS;
}

int Query_thread(int* provided) {
  *provided = this_rank().thread_level;
  return MPI_SUCCESS;
}

int Is_thread_main(int* flag) {
  *flag = &self() == &this_rank().main ? 1 : 0;
  return MPI_SUCCESS;
}

int Abort(Comm, int errorcode) {
  const Rank& rank = this_rank();
  rank.world.hooks.abort_job(
      errorcode == 0 ? 1 : errorcode & 0xff,
      rank.name() + " called MPI_Abort with code " + std::to_string(errorcode));
  return MPI_SUCCESS;
}

double Wtime() { return read_clock().seconds(); }
double Wtick() { return 1e-9; }

int Get_processor_name(char* name, int* length) {
  const Rank& rank = this_rank();
  const char* node = rank.world.hooks.node_name(rank.world.network.node_of(rank.id));
  std::strncpy(name, node, MPI_MAX_PROCESSOR_NAME - 1);
  name[MPI_MAX_PROCESSOR_NAME - 1] = '\0';
  *length = static_cast<int>(std::strlen(name));
  return MPI_SUCCESS;
}

// Target machines have no hardware description finer than their nodes.
int Get_hw_resource_info(Info* hw_info) { return Info_create(hw_info); }

int Alloc_mem(Aint size, Info, void* baseptr) {
  if (size < 0) return fail(MPI_ERR_ARG, "the size is negative");
  void* memory = std::malloc(size == 0 ? 1 : static_cast<size_t>(size));
  if (memory == nullptr) return fail(MPI_ERR_NO_MEM, "out of memory");
  *static_cast<void**>(baseptr) = memory;
  return MPI_SUCCESS;
}

int Free_mem(void* base) {
  std::free(base);
  return MPI_SUCCESS;
}

}  // namespace sesame::mpi
