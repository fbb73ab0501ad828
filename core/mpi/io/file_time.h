// Waiting for the file system: a strand asks the model, gives way, and goes on when simulated time
// has come to the end of what it asked for. Files of the host, on no simulated file system, take
// no time.
#pragma once

#include "core/mpi/io/file.h"
#include "core/mpi/world.h"
#include "core/storage/access.h"

namespace sesame::mpi {

// Gives way until everything earlier than the strand's clock has happened; takes no time.
void let_come(Strand& strand);

// Adds to the rank's time in file systems; nothing for helper strands, beside which it goes on.
void count_io(Strand& strand, SimTime duration);

storage::Client client_of(const Strand& strand);

// After let_come(): `ask` hands the completion to the model; the strand goes on when it is done.
class FileWait : public storage::Completion {
 public:
  explicit FileWait(Strand& strand) : strand_(strand) {}
  void done(SimTime at) override;
  void await();
  bool is_done() const { return done_; }
  SimTime at() const { return at_; }

 private:
  Strand& strand_;
  SimTime at_;
  bool done_ = false;
  bool waits_ = false;
};

// One request to the file system's metadata service, the giving way before it included.
void spend_metadata(Strand& strand, const storage::Place& place, storage::MetadataCall call);

}  // namespace sesame::mpi
