// The channels of one rank whose first undecided message is for a receive that the program may
// still cancel, in the order of the arrival of these messages. Matching (matching.h) makes one
// where the program may cancel receives.
//
// Use: await() a message of a channel when such a one is found, remove() the channel when its
// messages are matched again; first_channel() is the next one to match, at first_arrival().
// Channels are named by ChannelTable::key_of(). The order does not depend on that of the calls.
// Each takes O(log n) for n channels. Times are simulated. One thread.
#pragma once

#include <cstdint>
#include <set>
#include <unordered_map>
#include <utility>

#include "core/base/units.h"

namespace sesame::mpi {

class AwaitedArrivals {
 public:
  // Of several messages of a channel the earliest counts. Returns whether it is this one.
  bool await(uint64_t channel, const SimTime& arrival) {
    const auto [known, is_new] = arrivals_.try_emplace(channel, arrival);
    if (!is_new) {
      if (known->second <= arrival) return false;
      order_.erase({known->second, channel});
      known->second = arrival;
    }
    order_.emplace(arrival, channel);
    return true;
  }
  // REQUIRES: it is there.
  void remove(uint64_t channel) {
    const auto found = arrivals_.find(channel);
    order_.erase({found->second, channel});
    arrivals_.erase(found);
  }
  bool empty() const { return order_.empty(); }
  // SimTime::never() if there is none.
  SimTime first_arrival() const {
    return order_.empty() ? SimTime::never() : order_.begin()->first;
  }
  // REQUIRES: there is one.
  uint64_t first_channel() const { return order_.begin()->second; }

 private:
  std::unordered_map<uint64_t, SimTime> arrivals_;
  std::set<std::pair<SimTime, uint64_t>> order_;
};

}  // namespace sesame::mpi
