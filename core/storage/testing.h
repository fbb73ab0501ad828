// For tests of file systems: a small machine, and accesses that run to their completion.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "core/machine/machine.h"
#include "core/storage/make_file_system.h"

namespace sesame::storage {

constexpr uint64_t kBlock = 4096;

// One I/O node with a device of constant speed, no caches.
inline machine::StorageParameters plain() {
  machine::StorageParameters parameters;
  parameters.ionodes = 1;
  parameters.client_overhead = SimTime::from_ns(10'000);
  parameters.server_overhead = SimTime::from_ns(20'000);
  parameters.device.read_latency = SimTime::from_ns(5'000'000);
  parameters.device.write_latency = SimTime::from_ns(6'000'000);
  parameters.device.read_bandwidth = 10e6;
  parameters.device.write_bandwidth = 8e6;
  return parameters;
}

// The same with caches of these sizes.
inline machine::StorageParameters cached(uint64_t cnode_blocks, uint64_t ionode_blocks) {
  machine::StorageParameters parameters = plain();
  parameters.cnode_cache.size = cnode_blocks * kBlock;
  parameters.ionode_cache.size = ionode_blocks * kBlock;
  return parameters;
}

inline machine::Machine small_machine(int nodes) {
  const auto machine = machine::parse_machine("name = \"test\"\nnodes = " + std::to_string(nodes) +
                                                  R"(
[node]
cores = 4
[node.network]
latency = "1 us"
bandwidth = "5 GB/s"
[network]
latency = "10 us"
bandwidth = "100 MB/s"
send_overhead = "2 us"
receive_overhead = "3 us"
[topology]
kind = "crossbar"
)",
                                              "test.toml");
  EXPECT_TRUE(machine) << machine.error().to_string();
  return *machine;
}

// Records when it was called.
struct CompletionRecord : Completion {
  void done(SimTime time) override {
    at = time;
    is_done = true;
  }
  SimTime at;
  bool is_done = false;
};

// A file system with one file; each rank is on its own node.
class TestFileSystem {
 public:
  explicit TestFileSystem(const machine::StorageParameters& parameters, int ranks = 4)
      : parameters_(parameters),
        machine_(small_machine(ranks)),
        network_(*network::Network::create(machine_, ranks, "cyclic")),
        interfaces_(static_cast<size_t>(ranks)) {
    system_ = make_file_system(parameters, network_, events_, 1);
    file = system_->find_file("/file");
    system_->resize(file, UINT64_C(1) << 30);
    system_->mark_existing_contents(file);
  }

  FileSystem& system() { return *system_; }
  SimTime now() const { return now_; }
  Client client(int rank) {
    return {rank, network_.node_of(rank), &interfaces_[static_cast<size_t>(rank)]};
  }

  // Runs one access alone, with the background work that it starts. Returns its duration.
  SimTime read(int rank, const std::vector<Extent>& extents) {
    return run(Direction::kRead, rank, extents);
  }
  SimTime write(int rank, const std::vector<Extent>& extents) {
    return run(Direction::kWrite, rank, extents);
  }
  SimTime run(Direction direction, int rank, const std::vector<Extent>& extents) {
    CompletionRecord completion;
    const SimTime began = now_;
    system_->access(now_, {direction, file, client(rank), extents}, completion);
    return finish(completion) - began;
  }
  SimTime read_blocks(int rank, uint64_t first, uint64_t count = 1) {
    return read(rank, {{first * kBlock, count * kBlock}});
  }
  SimTime write_blocks(int rank, uint64_t first, uint64_t count = 1) {
    return write(rank, {{first * kBlock, count * kBlock}});
  }
  SimTime flush(int rank) {
    CompletionRecord completion;
    const SimTime began = now_;
    system_->flush(now_, file, client(rank), completion);
    return finish(completion) - began;
  }
  // Runs all events. Returns when the access was complete.
  SimTime finish(const CompletionRecord& completion) {
    run_all();
    EXPECT_TRUE(completion.is_done);
    return completion.at;
  }

  void run_all() {
    while (!events_.empty()) run_until(events_.earliest());
  }

  // Runs the events up to this time.
  void run_until(SimTime time) {
    while (events_.earliest() <= time && !events_.empty()) {
      pdes::ConditionalEvent& event = events_.take_earliest();
      now_ = event.time();
      event.fire();
    }
    now_ = later(now_, time);
  }

  // Closed forms: the time of a message between a node and an I/O node, and of a device request.
  static SimTime message(uint64_t bytes) {
    return SimTime::from_ns(10'000) + SimTime::from_seconds(static_cast<double>(bytes) / 100e6);
  }
  SimTime device_read(uint64_t bytes) const {
    return parameters_.device.read_latency +
           SimTime::from_seconds(static_cast<double>(bytes) / parameters_.device.read_bandwidth);
  }
  SimTime device_write(uint64_t bytes) const {
    return parameters_.device.write_latency +
           SimTime::from_seconds(static_cast<double>(bytes) / parameters_.device.write_bandwidth);
  }

  IonodeStatistics ionode(size_t number = 0) const { return system_->statistics().ionodes[number]; }
  CacheStatistics cnode(size_t node) const { return system_->statistics().cnode_caches[node]; }
  uint64_t blocks_read() const {  // from all devices
    uint64_t bytes = 0;
    for (const IonodeStatistics& each : system_->statistics().ionodes)
      bytes += each.device.bytes_read;
    return bytes / kBlock;
  }
  uint64_t blocks_written() const {
    uint64_t bytes = 0;
    for (const IonodeStatistics& each : system_->statistics().ionodes)
      bytes += each.device.bytes_written;
    return bytes / kBlock;
  }

  FileId file{};

 private:
  machine::StorageParameters parameters_;
  machine::Machine machine_;
  network::Network network_;
  pdes::EventQueue events_;
  std::vector<SimTime> interfaces_;
  std::unique_ptr<FileSystem> system_;
  SimTime now_;
};

}  // namespace sesame::storage
