// A priority queue of one receiver's queued messages by time of arrival, the earliest on top. Each
// message stores its position, so that it can be removed from anywhere in O(log n). A node has four
// children, which makes the heap half as deep as a binary one: fewer cache lines are read. Does not
// own the messages. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/units.h"

namespace sesame::mpi {

struct MessageEnvelope;
struct QueuedMessage;

// The order in which messages of different channels match a receive from any source: by arrival,
// then by source, then by context. (Messages of one channel match in the order sent.)
bool arrives_before(const MessageEnvelope& a, const MessageEnvelope& b);

class ArrivalHeap {
 public:
  // Which of the message's two positions (QueuedMessage::heap_positions) the heap uses.
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
  // Replaces `message` by `next`. REQUIRES: has(message), and `next` arrives no earlier.
  void replace(QueuedMessage& message, QueuedMessage& next);

 private:
  static constexpr size_t kChildren = 4;

  // A copy of the keys: reading the messages themselves would cause cache misses.
  struct Entry {
    SimTime arrival;
    int source;
    QueuedMessage* message;

    bool before(const Entry& other) const {
      return arrival != other.arrival ? arrival < other.arrival : source < other.source;
    }
  };

  static Entry entry_of(QueuedMessage& message);
  uint32_t& position_of(QueuedMessage& message) const;
  void put(size_t index, const Entry& entry);
  void sift_up(size_t index, const Entry& entry);
  void sift_down(size_t index, const Entry& entry);

  size_t kind_;
  std::vector<Entry> entries_;
};

}  // namespace sesame::mpi
