// Exclusive locks on ranges of a file, as data sieving writes take them: who reads a range, changes
// it and writes it back keeps others that do the same out meanwhile. Granted in the order of
// simulated time; a lock itself costs nothing, only waiting does.
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
  // Blocks the strand until nobody has, or asked earlier for, a part of the range.
  void lock(Strand& strand, storage::Extent range);
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

// By file, since one file can be open several times.
struct FileLocks : std::map<std::pair<const storage::FileSystem*, storage::FileId>, RangeLocks> {};

// The locks of this file; made when first asked for.
RangeLocks& locks_of(World& world, const storage::FileSystem* system, storage::FileId file);

}  // namespace sesame::mpi
