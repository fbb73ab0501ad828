#include "core/mpi/io/waiting.h"

#include "core/mpi/messages/messaging.h"
#include "core/mpi/messages/world.h"

namespace sesame::mpi {

void add_io_time(Strand& strand, SimTime duration) {
  Rank& rank = *strand.rank;
  if (&strand != &rank.main) return;
  rank.io += duration;
  if (strand.call_depth > 0) rank.io_in_calls += duration;
}

FileWait::FileWait(Strand& strand) : strand_(strand) { strand.rank->interface.begin_file_access(); }

void FileWait::done(SimTime at) {
  strand_.rank->interface.end_file_access();
  at_ = at;
  is_done_ = true;
  if (is_blocked_) strand_.rank->world.executive.make_ready(strand_);
}

void FileWait::wait() {
  if (!is_done_) {
    is_blocked_ = true;
    strand_.rank->world.executive.block();
    is_blocked_ = false;
  }
  if (at_ <= strand_.now) return;
  add_io_time(strand_, at_ - strand_.now);
  strand_.now = at_;
}

}  // namespace sesame::mpi
