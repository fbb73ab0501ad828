#include "core/storage/journal.h"

#include <utility>

namespace sesame::storage {

// The journal is in the middle of the device, where mke2fs puts it (at address 0 if the device has
// no capacity).
Journal::Journal(const FileSystemContext& context, JournalDevice& device)
    : parameters_(context.parameters),
      events_(context.events),
      device_(device),
      next_address_(device_capacity(parameters_.device) / 2) {}

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
  bytes_left_ = parameters_.metadata.journal;
  if (committing_.without_data == 0) proceed(now);
}

void Journal::proceed(SimTime now) {
  if (bytes_left_ == 0) {
    events_.schedule(*this, now + parameters_.metadata.sync);
    return;
  }
  const uint64_t record = parameters_.block;
  const uint64_t bytes = bytes_left_ > record ? bytes_left_ - record : bytes_left_;
  bytes_left_ -= bytes;
  device_.submit(
      now, {Direction::kWrite, std::exchange(next_address_, next_address_ + bytes), bytes, this});
}

void Journal::done(SimTime at) {
  device_.record_device_time(at);
  proceed(at);
}

// Starts the next commit before it completes the syncs of this one, which may start new syncs.
void Journal::fire() {
  const SimTime now = time();
  const std::vector<Completion*> syncs = std::move(committing_.syncs);
  is_committing_ = false;
  if (running_.is_wanted) begin(now);
  for (Completion* const each : syncs) each->done(now);
}

}  // namespace sesame::storage
