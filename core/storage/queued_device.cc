#include "core/storage/queued_device.h"

#include <algorithm>
#include <vector>

#include "core/storage/request_queue.h"

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

std::unique_ptr<Device> make_queued_device(std::unique_ptr<ServiceModel> model,
                                           machine::QueueDiscipline discipline,
                                           pdes::EventQueue& events) {
  return std::make_unique<QueuedDevice>(std::move(model), discipline, events);
}

}  // namespace sesame::storage
