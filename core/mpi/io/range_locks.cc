#include "core/mpi/io/range_locks.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/mpi/io/file_time.h"
#include "core/mpi/messages/world.h"

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
  yield_until_now(strand);
  const bool must_wait = std::ranges::any_of(
      waiting_, [range](const Waiter& waiter) { return overlap(waiter.range, range); });
  if (!must_wait && !is_held(range)) {
    held_.push_back(range);
    return;
  }
  waiting_.push_back({&strand, range});
  strand.rank->world.executive.block();
}

void RangeLocks::unlock(Strand& strand, Extent range) {
  const auto mine = std::ranges::find_if(held_, [range](Extent held) {
    return held.offset == range.offset && held.bytes == range.bytes;
  });
  CHECK(mine != held_.end());
  held_.erase(mine);
  std::deque<Waiter> still_waiting;
  for (const Waiter& waiter : waiting_) {
    const bool must_wait = std::ranges::any_of(still_waiting, [&waiter](const Waiter& other) {
      return overlap(other.range, waiter.range);
    });
    if (must_wait || is_held(waiter.range)) {
      still_waiting.push_back(waiter);
      continue;
    }
    held_.push_back(waiter.range);
    Strand& granted = *waiter.strand;
    granted.waited += granted.wait_until(strand.departure());
    granted.rank->world.executive.make_ready(granted);
  }
  waiting_ = std::move(still_waiting);
}

RangeLocks& locks_of(World& world, const storage::FileSystem* system, storage::FileId file) {
  if (world.file_locks == nullptr) world.file_locks = std::make_shared<FileLocks>();
  return (*world.file_locks)[{system, file}];
}

}  // namespace sesame::mpi
