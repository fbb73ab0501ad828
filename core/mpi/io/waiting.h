// FileWait: how a strand waits for one request to a file system. The strand's clock advances to the
// completion time; that time counts as the rank's time in I/O.
#pragma once

#include "core/base/units.h"
#include "core/mpi/messages/messaging.h"
#include "core/storage/access.h"

namespace sesame::mpi {

struct Strand;

// Adds to the rank's time in I/O. Strands of non-blocking calls add nothing: their rank does
// something else meanwhile.
void count_io(Strand& strand, SimTime duration);

// The completion of one request, which the strand can wait for or test. Must live until it is done.
class FileWait : public storage::Completion {
 public:
  explicit FileWait(Strand& strand);
  void done(SimTime at) override;

  // Blocks the strand until the request is done; its clock is not earlier than that then.
  void wait();
  bool is_done() const { return is_done_; }
  // When it was done: once is_done().
  SimTime at() const { return at_; }

 private:
  Strand& strand_;
  SimTime at_;
  bool is_done_ = false;
  bool is_blocked_ = false;
};

}  // namespace sesame::mpi
