// Something that serves one message after the other: a direction of a card, a link, the memory of
// a node.
//
// Use: serve() each message in the order of simulated time. count() what it was, if that is to be
// known later. Sizes are bytes. Nothing here fails. One thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>

#include "core/base/sim_time.h"
#include "core/base/utilisation.h"

namespace sesame::network {

inline constexpr int kNoRank = -1;  // the sender and receiver of a message of a file system

// When a server was busy, and with whose messages.
struct ServerHistory {
  struct Pair {
    int from = kNoRank;
    int to = kNoRank;
    uint64_t bytes = 0;      // with those of pairs that it replaced
    uint64_t of_others = 0;  // when it replaced the last one

    // Known to be its own.
    uint64_t own_bytes() const { return bytes - of_others; }
  };
  static constexpr size_t kSlices = 128;

  Utilisation busy{kSlices};
  // The pairs of ranks with most bytes, about: a new one replaces that with fewest and continues
  // its count, so that none with more than an eighth of all is missing (Metwally's space saving).
  std::array<Pair, 8> pairs;

  void add(SimTime begin, SimTime end, int from, int to, uint64_t bytes) {
    busy.add(begin, end);
    if (from == kNoRank) return;
    auto pair = std::ranges::find_if(
        pairs, [&](const Pair& known) { return known.from == from && known.to == to; });
    if (pair == pairs.end()) {
      pair = std::ranges::min_element(pairs, {}, &Pair::bytes);
      *pair = {from, to, pair->bytes, pair->bytes};
    }
    pair->bytes += bytes;
  }
};

struct Server {
  SimTime free;  // when it can begin with the next message
  SimTime busy;  // so far; this and the next two without what was not counted
  uint64_t bytes = 0;
  uint32_t messages = 0;
  std::unique_ptr<ServerHistory> history;  // null while nothing was recorded

  // Serves a message that reaches it at `now`, and is busy with it for `time`. Returns the begin.
  SimTime serve(SimTime now, SimTime time) {
    const SimTime begin = later(now, free);
    free = begin + time;
    return begin;
  }
  // A message that occupied it for `time`.
  void count(SimTime time, uint64_t size) {
    busy += plain(time);
    bytes += size;
    ++messages;
  }
  void record(SimTime begin, SimTime time, int from, int to, uint64_t size) {
    if (history == nullptr) history = std::make_unique<ServerHistory>();
    history->add(plain(begin), plain(begin) + plain(time), from, to, size);
  }
};

}  // namespace sesame::network
