// Fixed bandwidth: latency + bytes / bandwidth, of reads and of writes.
#include "core/storage/service_models.h"

namespace sesame::storage {
namespace {

class Fixed : public ServiceModel {
 public:
  explicit Fixed(const machine::DeviceParameters& parameters)
      : read_{parameters.read_latency, ps_per_byte(parameters.read_bandwidth), parameters.read_key},
        write_{parameters.write_latency, ps_per_byte(parameters.write_bandwidth),
               parameters.write_key} {}

  SimTime serve(SimTime start, const DeviceRequest& request, DeviceStatistics& totals) override {
    const Cost& cost = request.direction == Direction::kRead ? read_ : write_;
    const SimTime transfer = transfer_time(request.bytes, cost.ps_per_byte).due_to(cost.key);
    totals.transfer_time += transfer;
    head_ = request.address + request.bytes;
    return start + cost.latency + transfer;
  }
  uint64_t position_of(uint64_t address) const override { return address; }
  uint64_t head_position() const override { return head_; }

 private:
  struct Cost {
    SimTime latency;
    double ps_per_byte;
    [[no_unique_address]] Parameter key;
  };
  Cost read_;
  Cost write_;
  uint64_t head_ = 0;
};

}  // namespace

std::unique_ptr<ServiceModel> make_fixed(const machine::DeviceParameters& parameters) {
  return std::make_unique<Fixed>(parameters);
}

}  // namespace sesame::storage
