#include "core/mpi/messages/arrival_heap.h"

#include <algorithm>

#include "core/mpi/messages/message.h"

namespace sesame::mpi {

bool arrives_before(const MessageEnvelope& a, const MessageEnvelope& b) {
  if (a.arrival != b.arrival) return a.arrival < b.arrival;
  return a.source != b.source ? a.source < b.source : a.context < b.context;
}

ArrivalHeap::Entry ArrivalHeap::entry_of(QueuedMessage& message) {
  return {message.arrival, message.source, &message};
}

uint32_t& ArrivalHeap::position_of(QueuedMessage& message) const {
  return message.heap_positions[kind_];
}

bool ArrivalHeap::has(const QueuedMessage& message) const {
  return message.heap_positions[kind_] != 0;
}

void ArrivalHeap::put(size_t index, const Entry& entry) {
  entries_[index] = entry;
  position_of(*entry.message) = static_cast<uint32_t>(index + 1);
}

void ArrivalHeap::push(QueuedMessage& message) {
  entries_.emplace_back();
  sift_up(entries_.size() - 1, entry_of(message));
}

void ArrivalHeap::remove(QueuedMessage& message) {
  const size_t index = position_of(message) - 1;
  position_of(message) = 0;
  const Entry last = entries_.back();
  entries_.pop_back();
  if (index == entries_.size()) return;
  if (index > 0 && last.before(entries_[(index - 1) / kChildren])) {
    sift_up(index, last);
  } else {
    sift_down(index, last);
  }
}

void ArrivalHeap::replace(QueuedMessage& message, QueuedMessage& next) {
  const size_t index = position_of(message) - 1;
  position_of(message) = 0;
  sift_down(index, entry_of(next));
}

void ArrivalHeap::sift_up(size_t index, const Entry& entry) {
  while (index > 0) {
    const size_t parent = (index - 1) / kChildren;
    if (!entry.before(entries_[parent])) break;
    put(index, entries_[parent]);
    index = parent;
  }
  put(index, entry);
}

void ArrivalHeap::sift_down(size_t index, const Entry& entry) {
  for (;;) {
    const size_t first = kChildren * index + 1;
    if (first >= entries_.size()) break;
    size_t best = first;
    const size_t end = std::min(first + kChildren, entries_.size());
    for (size_t child = first + 1; child < end; ++child) {
      if (entries_[child].before(entries_[best])) best = child;
    }
    if (!entries_[best].before(entry)) break;
    put(index, entries_[best]);
    index = best;
  }
  put(index, entry);
}

}  // namespace sesame::mpi
