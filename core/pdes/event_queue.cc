#include "core/pdes/event_queue.h"

#include "core/base/check.h"

namespace sesame::pdes {

void EventQueue::schedule(ConditionalEvent& event, SimTime time) {
  event.time_ = time;
  if (!event.is_scheduled()) {
    event.order_ = EventOrder{EventClass::kModel, 0, 0}.key() | next_sequence_++;
  }
  insert_or_move(event);
}

void EventQueue::schedule(ConditionalEvent& event, SimTime time, EventOrder order) {
  event.time_ = time;
  event.order_ = order.key();
  insert_or_move(event);
}

void EventQueue::insert_or_move(ConditionalEvent& event) {
  if (!event.is_scheduled()) {
    heap_.push_back(&event);
    event.heap_index_ = static_cast<int64_t>(heap_.size()) - 1;
  }
  restore(static_cast<size_t>(event.heap_index_));
}

void EventQueue::withdraw(ConditionalEvent& event) {
  if (!event.is_scheduled()) return;
  const size_t index = static_cast<size_t>(event.heap_index_);
  event.heap_index_ = -1;
  ConditionalEvent* last = heap_.back();
  heap_.pop_back();
  if (last == &event) return;
  place(last, index);
  restore(index);
}

ConditionalEvent& EventQueue::take_earliest() {
  CHECK(!heap_.empty());
  ConditionalEvent& event = *heap_[0];
  withdraw(event);
  return event;
}

void EventQueue::restore(size_t index) {
  sift_up(index);
  sift_down(index);
}

void EventQueue::sift_up(size_t index) {
  ConditionalEvent* event = heap_[index];
  while (index > 0) {
    const size_t parent = (index - 1) / 2;
    if (!before(*event, *heap_[parent])) break;
    place(heap_[parent], index);
    index = parent;
  }
  place(event, index);
}

void EventQueue::sift_down(size_t index) {
  ConditionalEvent* event = heap_[index];
  for (;;) {
    size_t child = 2 * index + 1;
    if (child >= heap_.size()) break;
    if (child + 1 < heap_.size() && before(*heap_[child + 1], *heap_[child])) ++child;
    if (!before(*heap_[child], *event)) break;
    place(heap_[child], index);
    index = child;
  }
  place(event, index);
}

}  // namespace sesame::pdes
