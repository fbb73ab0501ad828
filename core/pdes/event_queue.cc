#include "core/pdes/event_queue.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/base/prefetch.h"

namespace sesame::pdes {
namespace {

// With half the levels of a binary heap, each of which is a cache miss in runs of many ranks.
constexpr size_t kChildren = 4;
// With fewer events, these and what they need are in the cache anyway.
constexpr size_t kWorthLoading = 1024;
constexpr size_t kEventBytes = 5 * kCacheLineBytes;  // of a message, the most frequent kind

}  // namespace

void EventQueue::schedule(ConditionalEvent& event, SimTime time) {
  event.time_ = time;
  if (!event.is_scheduled()) {
    event.order_ = EventOrder{EventClass::kModel, 0, 0}.key() | next_sequence_++;
  }
  insert_or_move(event, false);
}

void EventQueue::schedule(ConditionalEvent& event, SimTime time, EventOrder order,
                          bool is_exclusive) {
  event.time_ = time;
  event.order_ = order.key();
  insert_or_move(event, is_exclusive);
}

void EventQueue::insert_or_move(ConditionalEvent& event, bool is_exclusive) {
  const Entry entry{event.time_.ps(), event.order_, &event, true, is_exclusive};
  if (event.is_scheduled()) {
    heap_[static_cast<size_t>(event.heap_index_)] = entry;
  } else {
    heap_.push_back(entry);
    event.heap_index_ = static_cast<int64_t>(heap_.size()) - 1;
  }
  restore(static_cast<size_t>(event.heap_index_));
}

void EventQueue::schedule_once(ConditionalEvent& event, SimTime time, EventOrder order) {
  event.time_ = time;
  event.heap_index_ = ConditionalEvent::kNotMovable;
  heap_.push_back({time.ps(), order.key(), &event, false});
  sift_up(heap_.size() - 1);
}

void EventQueue::withdraw(ConditionalEvent& event) {
  if (!event.is_scheduled()) return;
  CHECK(event.heap_index_ != ConditionalEvent::kNotMovable);
  remove(static_cast<size_t>(event.heap_index_));
}

void EventQueue::remove(size_t index) {
  heap_[index].event->heap_index_ = -1;
  const Entry last = heap_.back();
  heap_.pop_back();
  if (index == heap_.size()) return;
  place(last, index);
  restore(index);
}

ConditionalEvent& EventQueue::take_earliest() {
  CHECK(!heap_.empty());
  ConditionalEvent& event = *heap_[0].event;
  remove(0);
  if (heap_.size() >= kWorthLoading) load_next();
  return event;
}

// The next event is loaded since it was among the candidates for the place before it: it can say
// what else it needs. The candidates now are loaded themselves.
void EventQueue::load_next() const {
  heap_[0].event->load_ahead();
  for (size_t child = 1; child <= kChildren; ++child) {
    prefetch_bytes(heap_[child].event, kEventBytes);
  }
}

void EventQueue::restore(size_t index) {
  sift_up(index);
  sift_down(index);
}

void EventQueue::sift_up(size_t index) {
  const Entry entry = heap_[index];
  while (index > 0) {
    const size_t parent = (index - 1) / kChildren;
    if (!entry.is_before(heap_[parent])) break;
    place(heap_[parent], index);
    index = parent;
  }
  place(entry, index);
}

void EventQueue::sift_down(size_t index) {
  const Entry entry = heap_[index];
  for (;;) {
    const size_t first = kChildren * index + 1;
    if (first >= heap_.size()) break;
    const size_t end = std::min(first + kChildren, heap_.size());
    size_t child = first;
    for (size_t other = first + 1; other < end; ++other) {
      if (heap_[other].is_before(heap_[child])) child = other;
    }
    if (!heap_[child].is_before(entry)) break;
    place(heap_[child], index);
    index = child;
  }
  place(entry, index);
}

}  // namespace sesame::pdes
