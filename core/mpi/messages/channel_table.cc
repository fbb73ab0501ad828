#include "core/mpi/messages/channel_table.h"

namespace sesame::mpi {

Channel& ChannelTable::at(uint64_t key) {
  Channel* channel = find(key);
  return channel != nullptr ? *channel : insert(key);
}

Channel& ChannelTable::insert(uint64_t key) {
  if (2 * (used_ + 1) > mask_ + 1) grow();
  ++used_;
  uint32_t slot = first_slot(key);
  while (slots_[slot].key != Channel::kNone) slot = (slot + 1) & mask_;
  slots_[slot].key = key;
  return slots_[slot];
}

void ChannelTable::grow() {
  const size_t slots = size_t{2} * (mask_ + 1);
  auto larger = std::make_unique<Channel[]>(slots);
  std::unique_ptr<OrderedTransit*[]> in_transit;
  if (has_transits_) in_transit = std::make_unique<OrderedTransit*[]>(slots);
  const uint32_t old_mask = mask_;
  mask_ = 2 * mask_ + 1;
  for (uint32_t old = 0; old <= old_mask; ++old) {
    const Channel& channel = slots_[old];
    if (channel.key == Channel::kNone) continue;
    uint32_t slot = first_slot(channel.key);
    while (larger[slot].key != Channel::kNone) slot = (slot + 1) & mask_;
    larger[slot] = channel;
    if (has_transits_) in_transit[slot] = in_transit_[old];
  }
  far_ = std::move(larger);
  far_in_transit_ = std::move(in_transit);
  slots_ = far_.get();
  in_transit_ = far_in_transit_.get();
}

void ChannelTable::make_far_in_transit() {
  far_in_transit_ = std::make_unique<OrderedTransit*[]>(mask_ + 1);
  in_transit_ = far_in_transit_.get();
}

}  // namespace sesame::mpi
