// Messages with samples on their way to the main process.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/units.h"

namespace sesame::rocc {

// A message that reaches the main process at `time` with samples whose ages then are
// ages[first, first + count) of its list.
struct Message {
  SimTime time;
  uint32_t first = 0;
  uint32_t count = 0;
};

struct MessageList {
  std::vector<Message> messages;
  std::vector<SimTime> ages;

  void add(SimTime time, std::span<const SimTime> sample_ages) {
    messages.push_back(
        {time, static_cast<uint32_t>(ages.size()), static_cast<uint32_t>(sample_ages.size())});
    ages.insert(ages.end(), sample_ages.begin(), sample_ages.end());
  }
  void clear() {
    messages.clear();
    ages.clear();
  }
};

}  // namespace sesame::rocc
