// The arguments of each collective of a communicator, compared between its ranks: those of the
// first rank to enter it are expected of the others, and a difference is an error of the other
// rank.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <utility>

#include "core/mpi/objects/comm.h"
#include "core/mpi/objects/constants.h"
#include "core/mpi/objects/op.h"
#include "core/mpi/objects/type_signature.h"

namespace sesame::mpi {

// What must be the same on all ranks. Defaults are what a collective does not have, or what may
// differ.
struct CollectiveSignature {
  static constexpr int kNoRoot = -1;
  static constexpr Count kAnyBytes = -1;

  int root = kNoRoot;
  Op op = MPI_OP_NULL;      // all of the program's own are alike: they have numbers of the rank's
  Count bytes = kAnyBytes;  // of the data, or of one rank's block of it
  SignatureId type = kAnySignature;
};

class CollectiveLog;
// Each communicator's, by context and group; its ranks own it.
using CollectiveLogs = std::map<std::pair<uint32_t, const Members*>, CollectiveLog*>;

class CollectiveLog : public std::enable_shared_from_this<CollectiveLog> {
 public:
  // Is among `logs` for as long as it lives.
  CollectiveLog(CollectiveLogs& logs, CollectiveLogs::iterator place, int ranks)
      : logs_(logs), place_(place), ranks_(ranks) {}
  ~CollectiveLog() { logs_.erase(place_); }
  CollectiveLog(const CollectiveLog&) = delete;
  CollectiveLog& operator=(const CollectiveLog&) = delete;

  // A rank enters the communicator's collective number `sequence`. An error with its detail where
  // it does not fit the first rank's.
  int enter(const CommObject& comm, uint32_t sequence, const CollectiveSignature& signature);

 private:
  struct Entry {
    uint16_t call = 0;  // CallId of the first rank's
    int first = -1;     // that rank
    int arrived = 0;
    CollectiveSignature signature;
  };
  int compare(const CommObject& comm, const Entry& entry, uint16_t call,
              const CollectiveSignature& signature) const;

  CollectiveLogs& logs_;
  CollectiveLogs::iterator place_;
  int ranks_;
  uint32_t begin_ = 0;  // number of the first entry
  std::deque<Entry> entries_;
};

// As CollectiveLog::enter, for the running rank. Says nothing of inter-communicators.
int enter_collective_log(CommObject& comm, uint32_t sequence, const CollectiveSignature& signature);

}  // namespace sesame::mpi
