#include "core/storage/rate_limit.h"

#include <algorithm>
#include <cmath>

#include "core/base/pool.h"
#include "core/storage/service_models.h"

namespace sesame::storage {

Allowance::Allowance(double bytes_per_second, uint64_t burst, SimTime refill)
    : ps_per_byte_(ps_per_byte(bytes_per_second)),
      refill_(refill),
      step_(bytes_per_second * refill.seconds()),
      burst_(std::max(static_cast<double>(burst), step_)),
      saved_(burst_) {}

// A period begins with the first request after a time in which all was saved that can be.
void Allowance::refill_until(SimTime now) {
  if (refill_ == SimTime()) {
    const double came = static_cast<double>((now - filled_).ps()) / ps_per_byte_;
    saved_ = std::min(burst_, saved_ + came);
    filled_ = now;
    return;
  }
  const int64_t periods = (now - filled_).ps() / refill_.ps();
  saved_ = std::min(burst_, saved_ + static_cast<double>(periods) * step_);
  filled_ = saved_ >= burst_ ? now : filled_ + refill_ * periods;
}

SimTime Allowance::pass(SimTime now, uint64_t bytes) {
  if (ps_per_byte_ == 0) return now;
  now = later(now, filled_);  // what came before has its bytes only then
  refill_until(now);
  saved_ -= static_cast<double>(bytes);
  if (saved_ >= 0) return now;
  if (refill_ == SimTime()) {
    filled_ = now + SimTime::from_ps(std::llround(-saved_ * ps_per_byte_));
    saved_ = 0;
  } else {
    const auto periods = static_cast<int64_t>(std::ceil(-saved_ / step_));
    filled_ += refill_ * periods;
    saved_ += static_cast<double>(periods) * step_;
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
    Allowance& allowance = request.direction == Direction::kRead ? reads_ : writes_;
    auto* passing = new Passing;
    passing->events = &events_;
    passing->allowed = allowance.pass(now, request.bytes);
    passing->completion = request.completion;
    DeviceRequest watched = request;
    watched.completion = passing;
    device_->submit(now, watched);
  }
  const DeviceStatistics& statistics() const override { return device_->statistics(); }

 private:
  // A request that the device has, and then one that waits for the limit.
  struct Passing final : pdes::ConditionalEvent, Completion, Pooled<Passing> {
    void done(SimTime at) override {
      if (at < allowed) {
        events->schedule(*this, allowed);
      } else {
        tell(at);
      }
    }
    void fire() override { tell(time()); }
    void tell(SimTime at) {
      Completion* const told = completion;
      delete this;
      told->done(at);
    }
    pdes::EventQueue* events = nullptr;
    SimTime allowed;
    Completion* completion = nullptr;
  };

  std::unique_ptr<Device> device_;
  pdes::EventQueue& events_;
  Allowance reads_;
  Allowance writes_;
};

}  // namespace

std::unique_ptr<Device> make_limited(const machine::DeviceParameters& parameters,
                                     std::unique_ptr<Device> device, pdes::EventQueue& events) {
  return std::make_unique<LimitedDevice>(parameters, std::move(device), events);
}

}  // namespace sesame::storage
