// Receives what happens in the simulated MPI, for the data set of the run. One implementation
// writes its tables (core/sim/recording.h).
#pragma once

#include <cstdint>

#include "core/base/units.h"
#include "core/storage/file_call_record.h"

namespace sesame::mpi {

struct CallRecord {
  int rank;
  uint16_t call;
  SimTime begin;
  SimTime end;
  SimTime compute_before;  // host compute time since the call before, unscaled
  int peer;                // world rank, -1 for none
  int tag;
  uint32_t context;
  uint64_t bytes;
  bool polling;  // one of the calls that a program repeats until something has changed
};

struct MessageRecord {
  int source;  // world ranks
  int destination;
  int tag;
  uint32_t context;
  uint64_t bytes;
  SimTime sent;
  SimTime arrived;
  SimTime received;
  bool rendezvous;
};

class Recorder {
 public:
  virtual ~Recorder() = default;
  virtual void record(const CallRecord& call) = 0;
  virtual void record(const MessageRecord& message) = 0;
  // A call on a file, of MPI-IO, POSIX or stdio. The recorder sets the numbers of call and file.
  virtual void record(int rank, const storage::FileCallRecord& call) = 0;

  // Whether the rank is to yield until now and then to call write_until(): all that was received by
  // then is known, so that records can be written in order of time.
  virtual bool is_full(int rank) const = 0;
  virtual void write_until(int rank, SimTime now) = 0;
};

}  // namespace sesame::mpi
