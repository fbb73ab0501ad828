// A storage device as its I/O node sees it: requests by device address go in, in the order of the
// queue discipline they come out. One event of the device's own is all it needs of the simulation.
#pragma once

#include <cstdint>
#include <memory>

#include "core/base/units.h"
#include "core/machine/storage.h"
#include "core/pdes/event_queue.h"
#include "core/storage/access.h"

namespace sesame::storage {

struct DeviceRequest {
  Direction direction = Direction::kRead;
  uint64_t address = 0;  // byte on the device
  uint64_t bytes = 0;
  Completion* completion = nullptr;
};

struct DeviceStatistics {
  uint64_t reads = 0;
  uint64_t writes = 0;
  uint64_t bytes_read = 0;
  uint64_t bytes_written = 0;
  uint64_t seeks = 0;       // requests that do not begin where the one before ended
  uint64_t operations = 0;  // on the media: more than the requests in an array
  SimTime seek_time;        // this and the next two: sums over the members of an array
  SimTime rotation_time;
  SimTime transfer_time;
  SimTime busy;                // at least one request in work
  SimTime queued;              // sum over operations of the time between arrival and start
  uint64_t longest_queue = 0;  // requests that have arrived and not begun; of any member
};

// How long one request takes, mechanics and caches of the device included; holds their state.
class ServiceModel {
 public:
  virtual ~ServiceModel() = default;
  // Serves a request from `start` on; returns when it is finished. Calls come in order of time.
  virtual SimTime serve(SimTime start, const DeviceRequest& request, DeviceStatistics& totals) = 0;
  // What the queue discipline goes by: the cylinder, or what comes nearest to one.
  virtual uint64_t position_of(uint64_t address) const = 0;
  virtual uint64_t head_position() const = 0;
  // Requests that it can work on at the same time.
  virtual int concurrency() const { return 1; }
};

// One model for each DeviceKind: a member where there is an array. The seed says where the medium
// of a disk stands at time zero.
std::unique_ptr<ServiceModel> make_service_model(const machine::DeviceParameters& parameters,
                                                 uint64_t seed);

// A queue in front of a service model, or an array of those, one for each member; either may have a
// limit on its rate.
class Device {
 public:
  virtual ~Device() = default;
  // Told at simulated time `now`; never earlier than what it was told before.
  virtual void submit(SimTime now, const DeviceRequest& request) = 0;
  virtual const DeviceStatistics& statistics() const = 0;
};

std::unique_ptr<Device> make_device(const machine::DeviceParameters& parameters,
                                    pdes::EventQueue& events, uint64_t seed);

}  // namespace sesame::storage
