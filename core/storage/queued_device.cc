#include "core/storage/queued_device.h"

#include <algorithm>
#include <vector>

#include "core/storage/request_queue.h"

namespace sesame::storage {
namespace {

// The device is one event: the end of the request in service that ends first.
class QueuedDevice : public Device, private pdes::ConditionalEvent {
 public:
  QueuedDevice(std::unique_ptr<ServiceModel> model, machine::QueueDiscipline discipline,
               pdes::EventQueue& events)
      : model_(std::move(model)), events_(events), queue_(discipline) {
    active_.reserve(static_cast<size_t>(model_->concurrency()));
  }
  ~QueuedDevice() override { events_.withdraw(*this); }

  void submit(SimTime now, const DeviceRequest& request) override {
    if (active_.size() < static_cast<size_t>(model_->concurrency())) {
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
  struct ActiveRequest {
    SimTime end;
    uint64_t order;
    Completion* completion;
  };

  // Orders a heap with the first request to end on top.
  static bool ends_after(const ActiveRequest& a, const ActiveRequest& b) {
    return a.end != b.end ? a.end > b.end : a.order > b.order;
  }

  // Starts the next request before it calls the completion: a request that the completion submits
  // waits behind those in the queue.
  void fire() override {
    const SimTime now = time();
    std::ranges::pop_heap(active_, ends_after);
    Completion* const completion = active_.back().completion;
    active_.pop_back();
    if (!queue_.empty()) {
      const WaitingRequest next = queue_.pop(model_->head_position());
      totals_.queued += elapsed(next.arrived, now);
      start(now, next.request);
    }
    if (!active_.empty()) schedule();
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
    totals_.busy += elapsed(std::min(end, later(now, busy_until_)), end);
    busy_until_ = later(busy_until_, end);
    active_.push_back({end, starts_++, request.completion});
    std::ranges::push_heap(active_, ends_after);
  }

  void schedule() { events_.schedule(*this, active_.front().end); }

  std::unique_ptr<ServiceModel> model_;
  pdes::EventQueue& events_;
  RequestQueue queue_;
  std::vector<ActiveRequest> active_;  // a heap
  DeviceStatistics totals_;
  SimTime busy_until_;
  uint64_t end_of_last_ = 0;
  uint64_t starts_ = 0;
};

}  // namespace

std::unique_ptr<Device> make_queued_device(std::unique_ptr<ServiceModel> model,
                                           machine::QueueDiscipline discipline,
                                           pdes::EventQueue& events) {
  return std::make_unique<QueuedDevice>(std::move(model), discipline, events);
}

}  // namespace sesame::storage
