// How a strand waits for a file system: what it asks is asked when everything earlier has happened,
// and its clock goes on to where the answer is there. That time is the rank's time in I/O.
#pragma once

#include "core/base/units.h"
#include "core/mpi/messages/messaging.h"
#include "core/storage/access.h"

namespace sesame::mpi {

struct Strand;

// Adds to the rank's time in I/O. Helper strands add nothing: their rank does something else.
void count_io(Strand& strand, SimTime duration);

// The end of one thing that was asked of a file system. Not waiting is for things that go on by
// themselves: then it must live until it is done.
class FileWait : public storage::Completion {
 public:
  explicit FileWait(Strand& strand);
  void done(SimTime at) override;

  // Blocks the strand until it is done, and moves its clock there.
  void wait();
  bool is_done() const { return is_done_; }
  SimTime at() const { return at_; }

 private:
  Strand& strand_;
  SimTime at_;
  bool is_done_ = false;
  bool is_blocked_ = false;
};

}  // namespace sesame::mpi
