#include "core/rocc/arrivals.h"

#include <utility>

namespace sesame::rocc {

Arrivals::Arrivals(NodeResources& node, const ProcessClass& kind, StreamName stream)
    : node_(node),
      kind_(kind),
      intervals_(stream),
      lengths_({stream.seed, stream.replication, stream.node, stream.source + 1}) {}

void Arrivals::schedule_next(SimTime now) {
  node_.events.schedule(*this, now + kind_.interarrival->draw(intervals_));
}

void Arrivals::fire() {
  const SimTime now = time();
  schedule_next(now);
  Request& request = take_request();
  ++unfinished_;
  request.arrived = now;
  request.cpu = kind_.cpu.draw(lengths_);
  request.network = kind_.network.draw(lengths_);
  request.disk = kind_.disk.draw(lengths_);
  if (request.cpu != SimTime::zero()) {
    node_.processors.make_ready(request, now);
  } else {
    serve(request, now, kNetwork);
  }
}

Arrivals::Request& Arrivals::take_request() {
  if (free_.empty()) {
    requests_.push_back(std::make_unique<Request>(*this, kind_.weight));
    return *requests_.back();
  }
  Request& request = *free_.back();
  free_.pop_back();
  return request;
}

SimTime Arrivals::Request::next_demand(SimTime now) {
  const SimTime demand = std::exchange(cpu, SimTime::zero());
  if (demand == SimTime::zero()) arrivals.serve(*this, now, kNetwork);
  return demand;
}

void Arrivals::serve(Request& request, SimTime now, uint64_t first) {
  if (first <= kNetwork && request.network != SimTime::zero()) {
    node_.network.request(now, request.network, request, kNetwork);
    return;
  }
  if (first <= kDisk && request.disk != SimTime::zero()) {
    node_.disk.request(now, request.disk, request, kDisk);
    return;
  }
  --unfinished_;
  ++sums_.completed;
  sums_.response += now - request.arrived;
  free_.push_back(&request);
}

ClassStatistics Arrivals::statistics() const {
  ClassStatistics sums = sums_;
  for (const auto& request : requests_) sums.own_cpu += request->used();
  return sums;
}

void Arrivals::reset() {
  sums_ = {};
  for (const auto& request : requests_) request->reset_used();
}

}  // namespace sesame::rocc
