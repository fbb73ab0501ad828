// A limit on the rate of a device, as operating systems and clouds impose: the medium is as fast as
// before, but its requests complete no faster than the limit allows. The limit is a token bucket:
// tokens (bytes) accumulate up to a burst while there are no requests. They are added continuously,
// or all at once at the end of each refill period.
#pragma once

#include <memory>

#include "core/machine/storage.h"
#include "core/pdes/event_queue.h"
#include "core/storage/device.h"

namespace sesame::storage {

// The token bucket of one direction. Requests are admitted in the order of calls. It starts full.
class TokenBucket {
 public:
  // `refill` is the length of a period, at whose end all its tokens are added; zero: tokens are
  // added continuously. A period starts with the first request after the bucket was full. The
  // bucket holds at most `burst` bytes, or those of one period if that is more. A rate of 0 means
  // no limit.
  TokenBucket(double bytes_per_second, uint64_t burst, SimTime refill);
  // Takes the tokens of a request that arrives at `now`; calls must be in the order of time.
  // Returns when its last byte is allowed.
  SimTime admit(SimTime now, uint64_t bytes);

 private:
  void refill_until(SimTime now);

  double ps_per_byte_;  // 0: no limit
  SimTime refill_;
  double step_;  // bytes added at the start of a period
  double burst_;
  double tokens_;
  SimTime filled_;  // when tokens were last added, or will be
};

// Wraps the device: a request completes when the device has completed it and the limit has admitted
// it. `events` must outlive the result.
std::unique_ptr<Device> make_limited(const machine::DeviceParameters& parameters,
                                     std::unique_ptr<Device> device, pdes::EventQueue& events);

}  // namespace sesame::storage
