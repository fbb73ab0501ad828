// Queued messages of one receiver by arrival, the earliest on top: a heap of four children a node,
// so that few levels are read. A message knows its place, so that it can be taken out of the
// middle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/units.h"

namespace sesame::mpi {

struct QueuedMessage;

// The order in which messages of different channels reach a receive from any source. Messages of
// one channel reach it in the order sent.
bool arrives_before(const QueuedMessage& a, const QueuedMessage& b);

class ArrivalHeap {
 public:
  // Which of the message's places the heap uses.
  enum class Kind : uint8_t { kOneTag, kAllTags };
  explicit ArrivalHeap(Kind kind) : kind_(static_cast<size_t>(kind)) {}

  bool empty() const { return entries_.empty(); }
  // Null when empty.
  QueuedMessage* top() const { return entries_.empty() ? nullptr : entries_.front().message; }
  bool has(const QueuedMessage& message) const;

  // REQUIRES: !has(message)
  void push(QueuedMessage& message);
  // REQUIRES: has(message)
  void remove(QueuedMessage& message);
  // Puts `next`, which arrives no earlier, in the place of `message`.
  void replace(QueuedMessage& message, QueuedMessage& next);

 private:
  static constexpr size_t kChildren = 4;

  // A copy of what is compared: reading the messages themselves would miss the cache.
  struct Entry {
    SimTime arrival;
    int source;
    QueuedMessage* message;

    bool before(const Entry& other) const {
      return arrival != other.arrival ? arrival < other.arrival : source < other.source;
    }
  };

  static Entry entry_of(QueuedMessage& message);
  uint32_t& place_of(QueuedMessage& message) const;
  void put(size_t index, const Entry& entry);
  void sift_up(size_t index, const Entry& entry);
  void sift_down(size_t index, const Entry& entry);

  size_t kind_;
  std::vector<Entry> entries_;
};

}  // namespace sesame::mpi
