// Where the simulated MPI reports what happened, if anybody wants to know. One implementation
// writes a data set's raw streams (core/sim).
#pragma once

#include <cstdint>
#include <string_view>

#include "core/base/units.h"

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

// A call that concerns a simulated file: of MPI-IO, or of POSIX or stdio. What it does with the
// file follows from its name, as in traced runs.
struct IoRecord {
  int rank;
  const char* call;       // "MPI_File_write_at_all", "pwrite"; lives as long as the run
  std::string_view file;  // absolute path as the program knows it; lives during record()
  SimTime begin;
  SimTime end;
  int handle = -1;      // number of the opening in this rank; -1: none
  int64_t offset = -1;  // of the first byte in the file, or where a seek leads; -1: none
  uint64_t size = 0;    // bytes asked for; for an opening, the flags of open
  uint64_t bytes = 0;   // bytes moved
  uint16_t error = 0;   // errno or MPI error class
  bool collective = false;
  bool asynchronous = false;  // begin and end are of the call that started it
  bool nested = false;        // made inside another recorded call on files
};

class Recorder {
 public:
  virtual ~Recorder() = default;
  virtual void record(const CallRecord& call) = 0;
  virtual void record(const MessageRecord& message) = 0;
  virtual void record(const IoRecord& call) = 0;

  // Whether the rank is to yield until now and then to call write_until(): all that was received by
  // then is known, so that records can be written in order of time.
  virtual bool is_full(int rank) const = 0;
  virtual void write_until(int rank, SimTime now) = 0;
};

}  // namespace sesame::mpi
