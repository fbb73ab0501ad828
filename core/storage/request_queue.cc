#include "core/storage/request_queue.h"

#include <iterator>

#include "core/base/check.h"

namespace sesame::storage {

using machine::QueueDiscipline;

void RequestQueue::push(const WaitingRequest& waiting, uint64_t position) {
  if (!in_order_of_arrival()) {
    const Key key{position, arrivals_++};
    if (spare_.empty()) {
      by_position_.emplace(key, waiting);
      return;
    }
    ByPosition::node_type node = std::move(spare_.back());
    spare_.pop_back();
    node.key() = key;
    node.mapped() = waiting;
    by_position_.insert(std::move(node));
    return;
  }
  if (waiting_ == ring_.size()) grow();
  ring_[(first_ + waiting_++) & (ring_.size() - 1)] = waiting;
}

WaitingRequest RequestQueue::pop(uint64_t head) {
  CHECK(!empty());
  if (in_order_of_arrival()) {
    const WaitingRequest next = ring_[first_];
    first_ = (first_ + 1) & (ring_.size() - 1);
    --waiting_;
    return next;
  }
  const auto next = discipline_ == QueueDiscipline::kSstf   ? nearest(head)
                    : discipline_ == QueueDiscipline::kScan ? next_of_sweep(head)
                                                            : next_upward(head);
  spare_.push_back(by_position_.extract(next));
  return spare_.back().mapped();
}

void RequestQueue::grow() {
  std::vector<WaitingRequest> larger(ring_.empty() ? 16 : 2 * ring_.size());
  for (size_t i = 0; i < waiting_; ++i) larger[i] = ring_[(first_ + i) & (ring_.size() - 1)];
  ring_ = std::move(larger);
  first_ = 0;
}

RequestQueue::ByPosition::iterator RequestQueue::nearest(uint64_t head) {
  const auto above = by_position_.lower_bound({head, 0});
  if (above == by_position_.begin()) return above;
  const auto below = first_before(above);
  if (above == by_position_.end()) return below;
  return above->first.first - head <= head - below->first.first ? above : below;
}

// Reverses the direction after the last waiting request (LOOK), not at the edge of the disk.
RequestQueue::ByPosition::iterator RequestQueue::next_of_sweep(uint64_t head) {
  if (upward_) {
    const auto above = by_position_.lower_bound({head, 0});
    if (above != by_position_.end()) return above;
    upward_ = false;
  }
  const auto beyond = by_position_.lower_bound({head + 1, 0});
  if (beyond != by_position_.begin()) return first_before(beyond);
  upward_ = true;
  return by_position_.begin();
}

RequestQueue::ByPosition::iterator RequestQueue::next_upward(uint64_t head) {
  const auto above = by_position_.lower_bound({head, 0});
  return above == by_position_.end() ? by_position_.begin() : above;
}

// The earliest arrival at the nearest position before `it`.
RequestQueue::ByPosition::iterator RequestQueue::first_before(ByPosition::iterator it) {
  return by_position_.lower_bound({std::prev(it)->first.first, 0});
}

}  // namespace sesame::storage
