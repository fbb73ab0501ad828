#include "core/storage/device.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/storage/make_device.h"
#include "core/storage/request_queue.h"

namespace sesame::storage {
namespace {

using machine::DeviceParameters;
using machine::QueueDiscipline;

struct RecordedCompletion : Completion {
  void done(SimTime when) override {
    at = when;
    if (log != nullptr) log->push_back(this);
  }
  SimTime at = SimTime::never();
  std::vector<RecordedCompletion*>* log = nullptr;
};

void run_all(pdes::EventQueue& events) {
  while (!events.empty()) events.take_earliest().fire();
}

DeviceParameters fixed() {
  DeviceParameters parameters;
  parameters.read_latency = SimTime::from_ns(500);
  parameters.write_latency = SimTime::from_ns(900);
  parameters.read_bandwidth = 1e9;
  parameters.write_bandwidth = 5e8;
  return parameters;
}

TEST(FixedDevice, TakesLatencyPlusBytesOverBandwidth) {
  pdes::EventQueue events;
  const auto device = make_device(fixed(), events, 0);
  RecordedCompletion read, write;
  device->submit(SimTime::from_ns(100), {Direction::kRead, 0, 4096, &read});
  run_all(events);
  EXPECT_EQ(read.at, SimTime::from_ns(100 + 500 + 4096));
  device->submit(SimTime::from_ns(10000), {Direction::kWrite, 4096, 4096, &write});
  run_all(events);
  EXPECT_EQ(write.at, SimTime::from_ns(10000 + 900 + 8192));

  const DeviceStatistics& totals = device->statistics();
  EXPECT_EQ(totals.reads, 1u);
  EXPECT_EQ(totals.writes, 1u);
  EXPECT_EQ(totals.bytes_read, 4096u);
  EXPECT_EQ(totals.bytes_written, 4096u);
  EXPECT_EQ(totals.seeks, 0u);
  EXPECT_EQ(totals.busy, SimTime::from_ns(500 + 4096 + 900 + 8192));
  EXPECT_EQ(totals.transfer_time, SimTime::from_ns(4096 + 8192));
  EXPECT_EQ(totals.queued, SimTime::zero());
}

TEST(FixedDevice, ServesOneRequestAfterTheOther) {
  pdes::EventQueue events;
  const auto device = make_device(fixed(), events, 0);
  RecordedCompletion requests[3];
  for (RecordedCompletion& request : requests)
    device->submit(SimTime::zero(), {Direction::kRead, 1 << 20, 500, &request});
  run_all(events);
  EXPECT_EQ(requests[0].at, SimTime::from_ns(1000));
  EXPECT_EQ(requests[1].at, SimTime::from_ns(2000));
  EXPECT_EQ(requests[2].at, SimTime::from_ns(3000));
  EXPECT_EQ(device->statistics().queued, SimTime::from_ns(1000 + 2000));
  EXPECT_EQ(device->statistics().longest_queue, 2u);
  EXPECT_EQ(device->statistics().seeks, 3u);
  EXPECT_EQ(device->statistics().busy, SimTime::from_ns(3000));
}

// A request submitted by a completion waits behind those in the queue.
TEST(FixedDevice, DoesNotLetANewRequestJumpTheQueue) {
  struct Again : RecordedCompletion {
    void done(SimTime when) override {
      RecordedCompletion::done(when);
      device->submit(when, {Direction::kRead, 0, 500, next});
    }
    Device* device = nullptr;
    Completion* next = nullptr;
  };
  pdes::EventQueue events;
  const auto device = make_device(fixed(), events, 0);
  RecordedCompletion waiting, late;
  Again first;
  first.device = device.get();
  first.next = &late;
  device->submit(SimTime::zero(), {Direction::kRead, 0, 500, &first});
  device->submit(SimTime::zero(), {Direction::kRead, 0, 500, &waiting});
  run_all(events);
  EXPECT_EQ(waiting.at, SimTime::from_ns(2000));
  EXPECT_EQ(late.at, SimTime::from_ns(3000));
}

// The order of the textbooks' example (Silberschatz and others, "Operating System Concepts", disk
// scheduling): head at 53, requests for 98, 183, 37, 122, 14, 124, 65, 67.
std::vector<uint64_t> order_of(QueueDiscipline discipline) {
  RequestQueue queue(discipline);
  for (const uint64_t position : {98, 183, 37, 122, 14, 124, 65, 67})
    queue.push({.request = {.address = position}, .arrived = {}}, position);
  std::vector<uint64_t> order;
  uint64_t head = 53;
  while (!queue.empty()) {
    head = queue.pop(head).request.address;
    order.push_back(head);
  }
  return order;
}

TEST(RequestQueue, FcfsKeepsTheOrderOfArrival) {
  EXPECT_EQ(order_of(QueueDiscipline::kFcfs),
            (std::vector<uint64_t>{98, 183, 37, 122, 14, 124, 65, 67}));
}

TEST(RequestQueue, SstfTakesTheNearest) {
  EXPECT_EQ(order_of(QueueDiscipline::kSstf),
            (std::vector<uint64_t>{65, 67, 37, 14, 98, 122, 124, 183}));
}

TEST(RequestQueue, ScanGoesUpThenDown) {
  EXPECT_EQ(order_of(QueueDiscipline::kScan),
            (std::vector<uint64_t>{65, 67, 98, 122, 124, 183, 37, 14}));
}

TEST(RequestQueue, CLookGoesUpThenRestartsAtTheLowest) {
  EXPECT_EQ(order_of(QueueDiscipline::kCLook),
            (std::vector<uint64_t>{65, 67, 98, 122, 124, 183, 14, 37}));
}

TEST(RequestQueue, RequestsAtOnePositionAreServedInOrderOfArrival) {
  for (const QueueDiscipline discipline : {QueueDiscipline::kFcfs, QueueDiscipline::kSstf,
                                           QueueDiscipline::kScan, QueueDiscipline::kCLook}) {
    for (const uint64_t head : {0, 7, 100}) {
      RequestQueue queue(discipline);
      for (uint64_t i = 0; i < 40; ++i) queue.push({.request = {.address = i}, .arrived = {}}, 7);
      for (uint64_t i = 0; i < 40; ++i) EXPECT_EQ(queue.pop(head).request.address, i);
    }
  }
}

// A ring that is emptied and filled at every offset keeps its order while it grows.
TEST(RequestQueue, TheRingGrowsInOrder) {
  RequestQueue queue(QueueDiscipline::kFcfs);
  uint64_t in = 0, out = 0;
  for (int round = 0; round < 50; ++round) {
    for (int i = 0; i < 7; ++i) queue.push({.request = {.address = in++}, .arrived = {}}, 0);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(queue.pop(0).request.address, out++);
  }
  EXPECT_EQ(queue.size(), 100u);
  while (!queue.empty()) EXPECT_EQ(queue.pop(0).request.address, out++);
  EXPECT_EQ(out, in);
}

}  // namespace
}  // namespace sesame::storage
