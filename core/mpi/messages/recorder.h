// Receives a record of each call, message and file call of the simulated ranks. The implementation
// that writes the tables of the data set is in core/sim.
//
// Use: set World::recorder, which is null when nothing is recorded, before the ranks run; the
// recorder must outlive the run. Records come in the order in which the simulator learns of them,
// which is not that of their times, and are valid during the call only. A recorder must not block.
// It reports its own failures (core/sim ends the run then). Sizes are bytes, times are simulated
// unless a comment says host time. One thread.
#pragma once

#include <cstdint>

#include "core/base/units.h"
#include "core/storage/file_call_record.h"

namespace sesame::mpi {

struct CallRecord {
  int rank;
  uint16_t call;  // CallId
  SimTime begin;
  SimTime end;
  SimTime compute_before;  // host compute time since the call before, unscaled
  int peer;                // world rank, -1 for none
  int tag;
  uint32_t context;
  uint64_t bytes;
  bool polling;  // a call that a program repeats until something changes (MPI_Test, MPI_Iprobe …)
};

// How a message was sent: kPut and kGet are data of one-sided operations, to and from their target.
// Values as in trace/record.h.
enum class Protocol : uint8_t { kEager, kRendezvous, kPut, kGet };

struct MessageRecord {
  int source;  // world ranks
  int destination;
  int tag;
  uint32_t context;
  uint64_t bytes;
  SimTime sent;
  SimTime arrived;
  SimTime received;
  Protocol protocol;
};

class Recorder {
 public:
  virtual ~Recorder() = default;
  virtual void record(const CallRecord& call) = 0;
  virtual void record(const MessageRecord& message) = 0;
  // A call on a file, by MPI-IO, POSIX or stdio. The recorder numbers calls and files.
  virtual void record(int rank, const storage::FileCallRecord& call) = 0;

  // True when the rank has many unwritten records. The rank must then yield until now, so that
  // everything that happened by now is recorded, and call write_until(). That writes records in
  // order of time.
  virtual bool is_full(int rank) const = 0;
  virtual void write_until(int rank, SimTime now) = 0;
};

}  // namespace sesame::mpi
