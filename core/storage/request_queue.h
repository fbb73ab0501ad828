// RequestQueue: the requests that wait at a device, and which of them is next (the queue
// discipline). Positions are those of ServiceModel::position_of(). Requests at the same position
// are served in the order of arrival.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "core/machine/storage.h"
#include "core/storage/device.h"

namespace sesame::storage {

struct WaitingRequest {
  DeviceRequest request;
  SimTime arrived;
};

class RequestQueue {
 public:
  explicit RequestQueue(machine::QueueDiscipline discipline) : discipline_(discipline) {}

  bool empty() const { return size() == 0; }
  size_t size() const { return in_order_of_arrival() ? waiting_ : by_position_.size(); }
  bool in_order_of_arrival() const { return discipline_ == machine::QueueDiscipline::kFcfs; }

  void push(const WaitingRequest& waiting, uint64_t position);
  // Removes and returns the next request for a head at this position. REQUIRES: !empty().
  WaitingRequest pop(uint64_t head);

 private:
  using Key = std::pair<uint64_t, uint64_t>;  // position, number of arrival
  using ByPosition = std::map<Key, WaitingRequest>;

  void grow();
  ByPosition::iterator nearest(uint64_t head);
  ByPosition::iterator next_of_sweep(uint64_t head);
  ByPosition::iterator next_upward(uint64_t head);
  ByPosition::iterator first_before(ByPosition::iterator it);

  machine::QueueDiscipline discipline_;
  // FCFS: a ring, its size a power of two.
  std::vector<WaitingRequest> ring_;
  size_t first_ = 0;
  size_t waiting_ = 0;
  // The other disciplines; map nodes are used again.
  ByPosition by_position_;
  std::vector<ByPosition::node_type> spare_;
  uint64_t arrivals_ = 0;
  bool upward_ = true;  // SCAN
};

}  // namespace sesame::storage
