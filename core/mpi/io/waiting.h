// FileWait: lets strands of a rank wait for one request to a file system, also others than that
// which made it. The clock of a strand that waits advances to the completion time, and the wait
// counts as the rank's I/O time.
#pragma once

#include <span>
#include <vector>

#include "core/base/units.h"
#include "core/storage/access.h"

namespace sesame::storage {
class FileSystem;
}

namespace sesame::mpi {

struct Rank;
struct Strand;
struct World;

// Whether other workers have copies of this file system.
bool is_copied(const World& world, const storage::FileSystem& system);

// Adds to the rank's I/O time. Strands of non-blocking calls add nothing, because their rank
// computes at the same time.
void add_io_time(Strand& strand, SimTime duration);

// The completion of one request, which strands can wait for or test. Must live until it is done,
// and until the strands that wait have returned.
class FileWait : public storage::Completion {
 public:
  FileWait(Rank& rank, const storage::FileSystem& system);
  void done(SimTime at) override;

  // Blocks the strand, which runs, until the request is complete. Then its clock is at the
  // completion time, or later. Any number of strands may wait.
  void wait(Strand& strand);
  bool is_done() const { return is_done_; }
  // The completion time. REQUIRES: is_done().
  SimTime at() const { return at_; }

 private:
  Rank& rank_;
  const bool is_copied_;
  SimTime at_;
  bool is_done_ = false;
  std::vector<Strand*> blocked_;   // by wait()
  std::vector<Strand*> awaiting_;  // by wait_for_any()

  friend size_t wait_for_any(Strand& strand, std::span<FileWait* const> waits, SimTime latest);
};

// Blocks the strand until the first of these requests is complete, but until `latest` at most.
// Returns its index, or their number if none was complete.
size_t wait_for_any(Strand& strand, std::span<FileWait* const> waits, SimTime latest);

}  // namespace sesame::mpi
