// Device: a storage device as its I/O node sees it. Submit requests by device address; each
// request's completion is called at its end. The queue discipline decides the order of service.
// ServiceModel: how long a device takes for one request.
//
// Addresses and sizes are bytes. Simulation thread only. A device has no errors: it serves every
// request, whatever its address.
#pragma once

#include <cstdint>

#include "core/base/units.h"
#include "core/storage/access.h"

namespace sesame::storage {

struct DeviceRequest {
  Direction direction = Direction::kRead;
  uint64_t address = 0;
  uint64_t bytes = 0;
  Completion* completion = nullptr;  // not owned
};

struct DeviceStatistics {
  uint64_t reads = 0;
  uint64_t writes = 0;
  uint64_t bytes_read = 0;
  uint64_t bytes_written = 0;
  uint64_t seeks = 0;       // requests that do not start where the previous one ended
  uint64_t operations = 0;  // of the members of an array; otherwise the same as requests
  SimTime seek_time;        // this and the next two: sums over the members of an array
  SimTime rotation_time;
  SimTime transfer_time;
  SimTime busy;                // time with at least one request in service
  SimTime queued;              // sum over operations of the time between arrival and start
  uint64_t longest_queue = 0;  // requests that waited at the same time; of any member
};

// How long one request takes, the device's own mechanics and caches included. Has their state.
class ServiceModel {
 public:
  virtual ~ServiceModel() = default;
  // Serves a request from time `start` on. Returns the time of its end. Calls must be in the order
  // of time. Adds to seek_time, rotation_time and transfer_time of `totals`; the device counts the
  // rest.
  virtual SimTime serve(SimTime start, const DeviceRequest& request, DeviceStatistics& totals) = 0;
  // The position that queue disciplines sort by: the cylinder of a disk, or the closest equivalent.
  virtual uint64_t position_of(uint64_t address) const = 0;
  virtual uint64_t head_position() const = 0;
  // How many requests it can serve at the same time.
  virtual int concurrency() const { return 1; }
};

// A storage device with its queue (make_device.h).
class Device {
 public:
  virtual ~Device() = default;
  // Submits a request at simulated time `now`. Calls must be in the order of time.
  virtual void submit(SimTime now, const DeviceRequest& request) = 0;
  virtual const DeviceStatistics& statistics() const = 0;
};

}  // namespace sesame::storage
