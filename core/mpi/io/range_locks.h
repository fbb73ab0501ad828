// RangeLocks: exclusive locks on byte ranges of a file, for read-modify-write accesses (data
// sieving) and atomic mode. Locks are granted in the order of simulated time. Locking takes no
// time; waiting does. SharedFiles (shared_files.h) has those of all files.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "core/pdes/executive.h"
#include "core/storage/file_system.h"

namespace sesame::mpi {

struct Strand;
class RangeLocks;

// Is notified of what strands of this process lock, before it happens.
class LockListener {
 public:
  virtual void locked(const RangeLocks& locks, storage::Extent range) = 0;
  virtual void unlocked(const RangeLocks& locks, storage::Extent range, const SimTime& time) = 0;

 protected:
  ~LockListener() = default;
};

class RangeLocks {
 public:
  struct Owner {
    LockListener* listener;
    pdes::Executive* executive;
    const storage::FileSystem* system;
    storage::FileId file;
  };
  explicit RangeLocks(const Owner& owner) : owner_(owner) {}
  const Owner& owner() const { return owner_; }

  // Blocks the strand until no other lock, held or requested earlier, overlaps the range.
  void lock(Strand& strand, storage::Extent range);
  // Releases a lock of exactly this range, and resumes the strands that get theirs.
  void unlock(Strand& strand, storage::Extent range);

  // The steps of both, without telling other workers. `strand`: null if it is of another worker.
  // Whether the lock is granted at once.
  bool request(Strand* strand, storage::Extent range);
  void release(storage::Extent range, const SimTime& time);

 private:
  struct Waiter {
    Strand* strand;
    storage::Extent range;
  };
  bool is_held(storage::Extent range) const;
  void grant(const Waiter& waiter, const SimTime& time);

  Owner owner_;
  std::vector<storage::Extent> held_;
  std::deque<Waiter> waiting_;
};

}  // namespace sesame::mpi
