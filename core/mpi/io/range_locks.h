// RangeLocks: exclusive locks on byte ranges of a file, for read-modify-write accesses (data
// sieving) and atomic mode. Locks are granted in the order of simulated time. Locking takes no
// time; waiting does.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "core/storage/file_system.h"

namespace sesame::mpi {

struct Strand;
struct World;

class RangeLocks {
 public:
  // Blocks the strand until no other lock, held or requested earlier, overlaps the range.
  void lock(Strand& strand, storage::Extent range);
  // Releases a lock of exactly this range, and resumes the strands that get theirs.
  void unlock(Strand& strand, storage::Extent range);

 private:
  struct Waiter {
    Strand* strand;
    storage::Extent range;
  };
  bool is_held(storage::Extent range) const;

  std::vector<storage::Extent> held_;
  std::deque<Waiter> waiting_;
};

// By file, because one file can be open several times. The job owns it (World::file_locks).
struct FileLocks : std::map<std::pair<const storage::FileSystem*, storage::FileId>, RangeLocks> {};

// The locks of this file; made at the first call.
RangeLocks& locks_of(World& world, const storage::FileSystem* system, storage::FileId file);

}  // namespace sesame::mpi
