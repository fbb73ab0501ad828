// A limit on the rate of a device, as operating systems and clouds have it: the medium is as fast
// as ever, but no more bytes pass than the limit allows. What it allows is saved for later while
// nobody asks, up to a burst (a token bucket), and comes all the time or once in a period.
#pragma once

#include <memory>

#include "core/machine/storage.h"
#include "core/pdes/event_queue.h"
#include "core/storage/device.h"

namespace sesame::storage {

// Bytes of one direction. Requests pass in the order of their calls.
class Allowance {
 public:
  // `refill`: all bytes of so long a time come at its begin; zero: they come one by one. At most
  // `burst` bytes are saved, or what comes at once if that is more.
  Allowance(double bytes_per_second, uint64_t burst, SimTime refill);
  // When the last byte of a request that comes now may pass.
  SimTime pass(SimTime now, uint64_t bytes);

 private:
  void refill_until(SimTime now);

  double ps_per_byte_;  // 0: no limit
  SimTime refill_;
  double step_;  // bytes that come at once
  double burst_;
  double saved_;
  SimTime filled_;  // when bytes came last
};

// The device, whose requests are done when it is done with them and the limit lets them pass.
std::unique_ptr<Device> make_limited(const machine::DeviceParameters& parameters,
                                     std::unique_ptr<Device> device, pdes::EventQueue& events);

}  // namespace sesame::storage
