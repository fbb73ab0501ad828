#include "core/storage/journal.h"

#include <utility>

namespace sesame::storage {

// It lies in the middle of a device that has one, as mke2fs puts it.
Journal::Journal(const FileSystemContext& context, JournalDevice& device)
    : parameters_(context.parameters),
      events_(context.events),
      device_(device),
      place_(device_capacity(parameters_.device) / 2) {}

Journal::~Journal() { events_.withdraw(*this); }

uint64_t Journal::join(Completion& sync) {
  running_.syncs.push_back(&sync);
  ++running_.without_data;
  return number_of_running_;
}

void Journal::data_is_written(SimTime now, uint64_t transaction) {
  if (transaction == number_of_running_) {
    --running_.without_data;
    running_.is_wanted = true;
    if (!is_committing_) begin(now);
  } else if (--committing_.without_data == 0) {
    proceed(now);
  }
}

void Journal::begin(SimTime now) {
  is_committing_ = true;
  committing_ = std::exchange(running_, {});
  ++number_of_running_;
  left_ = parameters_.metadata.journal;
  if (committing_.without_data == 0) proceed(now);
}

void Journal::proceed(SimTime now) {
  if (left_ == 0) {
    events_.schedule(*this, now + parameters_.metadata.sync);
    return;
  }
  const uint64_t record = parameters_.block;
  const uint64_t bytes = left_ > record ? left_ - record : left_;
  left_ -= bytes;
  device_.submit(now, {Direction::kWrite, std::exchange(place_, place_ + bytes), bytes, this});
}

void Journal::done(SimTime at) {
  device_.note_device_time(at);
  proceed(at);
}

// The next commit begins before those of this one can ask for more.
void Journal::fire() {
  const SimTime now = time();
  const std::vector<Completion*> told = std::move(committing_.syncs);
  is_committing_ = false;
  if (running_.is_wanted) begin(now);
  for (Completion* const each : told) each->done(now);
}

}  // namespace sesame::storage
