// Device and ServiceModel: a storage device as its I/O node sees it, and how long one request takes
// on it. Requests by device address are submitted; each one's completion is told when it is done,
// in an order that the queue discipline decides. Addresses and sizes are bytes.
#pragma once

#include <cstdint>

#include "core/base/units.h"
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

// A storage device with its queue (make_device.h).
class Device {
 public:
  virtual ~Device() = default;
  // Told at simulated time `now`; never earlier than what it was told before.
  virtual void submit(SimTime now, const DeviceRequest& request) = 0;
  virtual const DeviceStatistics& statistics() const = 0;
};

}  // namespace sesame::storage
