// The queues and totals of one receiver for each channel, that is each source on each context: a
// hash table with open addressing. Its first slots are inside the object, so that reaching them
// follows no pointer.
//
// Use: key_of() a context and a source, then find() or at(). Only at() may invalidate references.
// Owns neither messages nor receives. Sizes are bytes, times are simulated. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "core/base/units.h"

namespace sesame::mpi {

class OrderedTransit;
struct QueuedMessage;
struct RequestObject;

// Queues and totals of one source on one context, in one cache line.
struct alignas(64) Channel {
  static constexpr uint64_t kNone = UINT64_MAX;

  uint64_t key = kNone;
  QueuedMessage* first_message = nullptr;
  QueuedMessage* last_message = nullptr;
  RequestObject* first_receive = nullptr;
  RequestObject* last_receive = nullptr;
  SimTime last_arrival;  // of all messages so far: none may arrive before it
  uint64_t bytes = 0;    // of all messages so far
  uint32_t messages = 0;
  int32_t source_world : 30 = 0;
  // 1: its messages are held back for a receive from any source (matching.h).
  uint32_t is_held : 1 = 0;
  // 1: for a receive that may be cancelled (awaited_arrivals.h).
  uint32_t is_awaited : 1 = 0;
};

class ChannelTable {
 public:
  static uint64_t key_of(uint32_t context, int source) {
    return (static_cast<uint64_t>(context) << 32) | static_cast<uint32_t>(source);
  }

  static uint32_t context_of(uint64_t key) { return static_cast<uint32_t>(key >> 32); }

  // The channel of a key (key_of), made at the first use. Making one invalidates all references.
  Channel& at(uint64_t key);
  // Null before the first use of the channel.
  Channel* find(uint64_t key) {
    uint32_t slot = first_slot(key);
    for (; slots_[slot].key != key; slot = (slot + 1) & mask_) {
      if (slots_[slot].key == Channel::kNone) return nullptr;
    }
    return &slots_[slot];
  }
  // The last message of the channel that is on its way (transit.h), or null. A reference that is
  // valid as long as one to the channel.
  OrderedTransit*& last_in_transit(uint64_t key) {
    const Channel& channel = at(key);  // first: it may move what is behind the pointers
    if (in_transit_ == nullptr) make_far_in_transit();
    has_transits_ = true;
    return in_transit_[&channel - slots_];
  }
  // Starts loading the channel into the cache. Does not read the table: assumes that the channel is
  // in one of the slots inside the object.
  void prefetch(uint64_t key) const {
    __builtin_prefetch(this, 1);
    __builtin_prefetch(&near_[hash(key) & (kNear - 1)], 1);
  }
  // The same for last_in_transit(), which is on another cache line.
  void prefetch_in_transit(uint64_t key) const {
    prefetch(key);
    __builtin_prefetch(near_in_transit_.data(), 1);
  }

  // Starts loading the first message of each channel in the slots inside the object.
  void prefetch_messages() const {
    for (const Channel& channel : near_) {
      if (channel.first_message != nullptr) __builtin_prefetch(channel.first_message, 1);
    }
  }

  template <typename Visit>
  void visit(Visit visit) const {
    for (uint32_t slot = 0; slot <= mask_; ++slot) {
      if (slots_[slot].key != Channel::kNone) visit(slots_[slot]);
    }
  }

 private:
  // The table grows when more than half of its slots would be used, so these slots hold the four
  // channels of a 2-D halo exchange.
  static constexpr uint32_t kNear = 8;

  // Fibonacci hashing: the high bits of the product depend on all bits of the key.
  static uint32_t hash(uint64_t key) {
    return static_cast<uint32_t>((key * 0x9e3779b97f4a7c15ull) >> 32);
  }
  uint32_t first_slot(uint64_t key) const { return hash(key) & mask_; }
  Channel& insert(uint64_t key);
  void grow();
  [[gnu::cold]] void make_far_in_transit();

  Channel* slots_ = near_.data();
  uint32_t mask_ = kNear - 1;
  uint32_t used_ = 0;
  std::unique_ptr<Channel[]> far_;
  OrderedTransit** in_transit_ = near_in_transit_.data();  // by slot; null: grown without transits
  bool has_transits_ = false;
  std::unique_ptr<OrderedTransit*[]> far_in_transit_;
  std::array<Channel, kNear> near_;
  std::array<OrderedTransit*, kNear> near_in_transit_{};
};

}  // namespace sesame::mpi
