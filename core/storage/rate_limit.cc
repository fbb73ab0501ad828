#include "core/storage/rate_limit.h"

#include <algorithm>
#include <cmath>

#include "core/base/pool.h"
#include "core/storage/service_models.h"

namespace sesame::storage {

TokenBucket::TokenBucket(double bytes_per_second, uint64_t burst, SimTime refill)
    : ps_per_byte_(ps_per_byte(bytes_per_second)),
      refill_(refill),
      step_(bytes_per_second * refill.seconds()),
      burst_(std::max(static_cast<double>(burst), step_)),
      tokens_(burst_) {}

// A period starts with the first request after the bucket was full.
void TokenBucket::refill_until(SimTime now) {
  if (refill_ == SimTime()) {
    const double arrived = static_cast<double>((now - filled_).ps()) / ps_per_byte_;
    tokens_ = std::min(burst_, tokens_ + arrived);
    filled_ = now;
    return;
  }
  const int64_t periods = (now - filled_).ps() / refill_.ps();
  tokens_ = std::min(burst_, tokens_ + static_cast<double>(periods) * step_);
  filled_ = tokens_ >= burst_ ? now : filled_ + refill_ * periods;
}

SimTime TokenBucket::admit(SimTime now, uint64_t bytes) {
  if (ps_per_byte_ == 0) return now;
  now = later(now, filled_);  // earlier requests have taken all tokens until then
  refill_until(now);
  tokens_ -= static_cast<double>(bytes);
  if (tokens_ >= 0) return now;
  if (refill_ == SimTime()) {
    filled_ = now + SimTime::from_ps(std::llround(-tokens_ * ps_per_byte_));
    tokens_ = 0;
  } else {
    const auto periods = static_cast<int64_t>(std::ceil(-tokens_ / step_));
    filled_ += refill_ * periods;
    tokens_ += static_cast<double>(periods) * step_;
  }
  return filled_;
}

namespace {

class LimitedDevice : public Device {
 public:
  LimitedDevice(const machine::DeviceParameters& parameters, std::unique_ptr<Device> device,
                pdes::EventQueue& events)
      : device_(std::move(device)),
        events_(events),
        reads_(parameters.read_limit, parameters.read_burst, parameters.limit_refill),
        writes_(parameters.write_limit, parameters.write_burst, parameters.limit_refill) {}

  void submit(SimTime now, const DeviceRequest& request) override {
    TokenBucket& bucket = request.direction == Direction::kRead ? reads_ : writes_;
    auto* limited = new LimitedRequest;
    limited->events = &events_;
    limited->allowed = bucket.admit(now, request.bytes);
    limited->completion = request.completion;
    DeviceRequest watched = request;
    watched.completion = limited;
    device_->submit(now, watched);
  }
  const DeviceStatistics& statistics() const override { return device_->statistics(); }

 private:
  // A request: first in the device, then waiting for the limit.
  struct LimitedRequest final : pdes::ConditionalEvent, Completion, Pooled<LimitedRequest> {
    void done(SimTime at) override {
      if (at < allowed) {
        events->schedule(*this, allowed);
      } else {
        complete(at);
      }
    }
    void fire() override { complete(time()); }
    void complete(SimTime at) {
      Completion* const waiter = completion;
      delete this;
      waiter->done(at);
    }
    pdes::EventQueue* events = nullptr;
    SimTime allowed;
    Completion* completion = nullptr;
  };

  std::unique_ptr<Device> device_;
  pdes::EventQueue& events_;
  TokenBucket reads_;
  TokenBucket writes_;
};

}  // namespace

std::unique_ptr<Device> make_limited(const machine::DeviceParameters& parameters,
                                     std::unique_ptr<Device> device, pdes::EventQueue& events) {
  return std::make_unique<LimitedDevice>(parameters, std::move(device), events);
}

}  // namespace sesame::storage
