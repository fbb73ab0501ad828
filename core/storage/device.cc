#include "core/storage/device.h"

#include <algorithm>
#include <random>
#include <vector>

#include "core/base/check.h"
#include "core/storage/array.h"
#include "core/storage/rate_limit.h"
#include "core/storage/request_queue.h"
#include "core/storage/service_models.h"

namespace sesame::storage {
namespace {

// Its one event is the end of the request in work that ends first.
class QueuedDevice : public Device, private pdes::ConditionalEvent {
 public:
  QueuedDevice(std::unique_ptr<ServiceModel> model, machine::QueueDiscipline discipline,
               pdes::EventQueue& events)
      : model_(std::move(model)), events_(events), queue_(discipline) {
    in_work_.reserve(static_cast<size_t>(model_->concurrency()));
  }
  ~QueuedDevice() override { events_.withdraw(*this); }

  void submit(SimTime now, const DeviceRequest& request) override {
    if (in_work_.size() < static_cast<size_t>(model_->concurrency())) {
      start(now, request);
      schedule();
      return;
    }
    const uint64_t position =
        queue_.in_order_of_arrival() ? 0 : model_->position_of(request.address);
    queue_.push({request, now}, position);
    totals_.longest_queue = std::max<uint64_t>(totals_.longest_queue, queue_.size());
  }

  const DeviceStatistics& statistics() const override { return totals_; }

 private:
  struct InWork {
    SimTime end;
    uint64_t order;
    Completion* completion;
  };

  // For a heap with the first to end on top.
  static bool ends_after(const InWork& a, const InWork& b) {
    return a.end != b.end ? a.end > b.end : a.order > b.order;
  }

  // The next request begins before the last one is told: what it asks for then waits its turn.
  void fire() override {
    const SimTime now = time();
    std::ranges::pop_heap(in_work_, ends_after);
    Completion* const completion = in_work_.back().completion;
    in_work_.pop_back();
    if (!queue_.empty()) {
      const WaitingRequest next = queue_.pop(model_->head_position());
      totals_.queued += now - next.arrived;
      start(now, next.request);
    }
    if (!in_work_.empty()) schedule();
    completion->done(now);
  }

  void start(SimTime now, const DeviceRequest& request) {
    const bool reads = request.direction == Direction::kRead;
    ++(reads ? totals_.reads : totals_.writes);
    (reads ? totals_.bytes_read : totals_.bytes_written) += request.bytes;
    ++totals_.operations;
    if (request.address != end_of_last_) ++totals_.seeks;
    end_of_last_ = request.address + request.bytes;
    const SimTime end = model_->serve(now, request, totals_);
    totals_.busy += end - std::min(end, later(now, busy_until_));
    busy_until_ = later(busy_until_, end);
    in_work_.push_back({end, starts_++, request.completion});
    std::ranges::push_heap(in_work_, ends_after);
  }

  void schedule() { events_.schedule(*this, in_work_.front().end); }

  std::unique_ptr<ServiceModel> model_;
  pdes::EventQueue& events_;
  RequestQueue queue_;
  std::vector<InWork> in_work_;  // a heap
  DeviceStatistics totals_;
  SimTime busy_until_;
  uint64_t end_of_last_ = 0;
  uint64_t starts_ = 0;
};

}  // namespace

std::unique_ptr<ServiceModel> make_service_model(const machine::DeviceParameters& parameters,
                                                 uint64_t seed) {
  switch (parameters.kind) {
    case machine::DeviceKind::kFixed:
      return make_fixed(parameters);
    case machine::DeviceKind::kDisk:
      return make_simple_disk(parameters, seed);
    case machine::DeviceKind::kHp97560:
      return make_hp97560(seed);
    case machine::DeviceKind::kSolidState:
      return make_solid_state(parameters);
  }
  CHECK(false);
}

namespace {

std::unique_ptr<Device> make_unlimited(const machine::DeviceParameters& parameters,
                                       pdes::EventQueue& events, uint64_t seed) {
  const auto queued = [&](std::unique_ptr<ServiceModel> model) {
    return std::make_unique<QueuedDevice>(std::move(model), parameters.queue, events);
  };
  if (parameters.raid == machine::RaidLevel::kNone)
    return queued(make_service_model(parameters, seed));
  if (parameters.raid == machine::RaidLevel::k3)
    return queued(make_in_step(parameters.members, make_service_model(parameters, seed)));
  std::vector<std::unique_ptr<Device>> members;
  std::mt19937_64 seeds(seed);
  for (int i = 0; i < parameters.members; ++i)
    members.push_back(queued(make_service_model(parameters, seeds())));
  return make_array(parameters, std::move(members));
}

}  // namespace

std::unique_ptr<Device> make_device(const machine::DeviceParameters& parameters,
                                    pdes::EventQueue& events, uint64_t seed) {
  auto device = make_unlimited(parameters, events, seed);
  if (parameters.read_limit == 0 && parameters.write_limit == 0) return device;
  return make_limited(parameters, std::move(device), events);
}

}  // namespace sesame::storage
