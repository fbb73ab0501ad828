// Checks that all ranks of a communicator call the same collective with matching arguments. The
// log keeps the arguments of the first rank that enters a collective; every other rank's are
// compared with them, and a difference is an error of that other rank (an MPI error class, with a
// detail that names both ranks). Entries are deleted when all ranks have entered.
//
// Use: enter_collective_log() at the beginning of each collective. The ranks share the log through
// CommObject::collective_log, and the last one to free its communicator deletes it. Sizes are
// bytes. One thread.
#pragma once

#include <cstdint>
#include <deque>

#include "core/mpi/objects/comm.h"
#include "core/mpi/objects/constants.h"
#include "core/mpi/objects/op.h"
#include "core/mpi/objects/type_signature.h"

namespace sesame::mpi {

// The arguments that must agree on all ranks. The default of an argument means that the collective
// does not have it or that it may differ.
struct CollectiveSignature {
  static constexpr int kNoRoot = -1;
  static constexpr Count kAnyBytes = -1;

  int root = kNoRoot;
  Op op = MPI_OP_NULL;      // all user-defined operations agree: their handles are the rank's own
  Count bytes = kAnyBytes;  // of the data, or of one rank's block of it
  SignatureId type = kAnySignature;
};

// Of one communicator; its ranks own it together.
class CollectiveLog {
 public:
  explicit CollectiveLog(int ranks) : ranks_(ranks) {}

  // A rank enters the communicator's collective number `sequence` by the call `call` (a CallId).
  // Returns an error class, with a detail, if the call does not agree with the first rank's.
  int enter(const CommObject& comm, uint32_t sequence, uint16_t call,
            const CollectiveSignature& signature);

 private:
  struct Entry {
    uint16_t call = 0;  // CallId of the first rank's
    int first = -1;     // that rank
    int arrived = 0;
    CollectiveSignature signature;
  };
  int compare(const CommObject& comm, const Entry& entry, uint16_t call,
              const CollectiveSignature& signature) const;

  int ranks_;
  uint32_t begin_ = 0;  // number of the first entry
  std::deque<Entry> entries_;
};

// Calls enter() for the running rank and its call. The first rank of the communicator makes the
// log. Does nothing for inter-communicators and for communicators of one rank.
int enter_collective_log(CommObject& comm, uint32_t sequence, const CollectiveSignature& signature);

}  // namespace sesame::mpi
