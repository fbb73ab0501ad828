#include "core/mpi/io/range_locks.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/mpi/io/file_time.h"

namespace sesame::mpi {
namespace {

using storage::Extent;

bool overlap(Extent a, Extent b) {
  return a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

}  // namespace

bool RangeLocks::is_held(Extent range) const {
  return std::ranges::any_of(held_, [range](Extent held) { return overlap(held, range); });
}

void RangeLocks::lock(Strand& strand, Extent range) {
  yield_for_files(strand);
  owner_.listener->locked(*this, range);
  if (request(&strand, range)) return;
  owner_.executive->add_model_waits(1);
  owner_.executive->block();
}

bool RangeLocks::request(Strand* strand, Extent range) {
  const bool must_wait = std::ranges::any_of(
      waiting_, [range](const Waiter& waiter) { return overlap(waiter.range, range); });
  if (!must_wait && !is_held(range)) {
    held_.push_back(range);
    return true;
  }
  waiting_.push_back({strand, range});
  return false;
}

void RangeLocks::unlock(Strand& strand, Extent range) {
  yield_for_files(strand);
  const SimTime time = strand.departure();
  owner_.listener->unlocked(*this, range, time);
  release(range, time);
}

void RangeLocks::release(Extent range, const SimTime& time) {
  const auto released = std::ranges::find_if(held_, [range](Extent held) {
    return held.offset == range.offset && held.bytes == range.bytes;
  });
  CHECK(released != held_.end());
  held_.erase(released);
  std::deque<Waiter> still_waiting;
  for (const Waiter& waiter : waiting_) {
    const bool must_wait = std::ranges::any_of(still_waiting, [&waiter](const Waiter& other) {
      return overlap(other.range, waiter.range);
    });
    if (must_wait || is_held(waiter.range)) {
      still_waiting.push_back(waiter);
    } else {
      grant(waiter, time);
    }
  }
  waiting_ = std::move(still_waiting);
}

void RangeLocks::grant(const Waiter& waiter, const SimTime& time) {
  held_.push_back(waiter.range);
  if (waiter.strand == nullptr) return;
  Strand& strand = *waiter.strand;
  strand.waited += strand.wait_until(time);
  owner_.executive->add_model_waits(-1);
  owner_.executive->make_ready(strand);
}

}  // namespace sesame::mpi
