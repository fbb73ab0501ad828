// For tests of file systems: a small machine, and accesses that run until they are done.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "core/machine/machine.h"
#include "core/storage/file_system.h"

namespace sesame::storage {

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

inline machine::Machine machine_for(int nodes) {
  const auto machine = machine::parse_machine(R"(
name = "test"
nodes = )" + std::to_string(nodes) + R"(
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

// Notes when it was told.
struct Told : Completion {
  void done(SimTime time) override {
    at = time;
    is_done = true;
  }
  SimTime at;
  bool is_done = false;
};

class Bench {
 public:
  explicit Bench(const machine::StorageParameters& parameters, int ranks = 4)
      : parameters_(parameters),
        machine_(machine_for(ranks)),
        network_(*network::Network::create(machine_, ranks, "cyclic")),
        interfaces_(static_cast<size_t>(ranks)) {
    auto made = make_file_system(parameters, network_, events_, 1);
    EXPECT_TRUE(made) << made.error().to_string();
    system_ = std::move(*made);
    file = system_->find_file("/file");
  }

  FileSystem& system() { return *system_; }
  SimTime now() const { return now_; }
  Client client(int rank) {
    return {rank, network_.node_of(rank), &interfaces_[static_cast<size_t>(rank)]};
  }

  // Runs one access alone; how long it took.
  SimTime read(int rank, int, std::vector<Extent> extents) {
    return run(Direction::kRead, rank, std::move(extents));
  }
  SimTime write(int rank, int, std::vector<Extent> extents) {
    return run(Direction::kWrite, rank, std::move(extents));
  }
  SimTime run(Direction direction, int rank, const std::vector<Extent>& extents) {
    Told told;
    system_->access(now_, {direction, file, client(rank), extents}, told);
    return finish(told);
  }
  SimTime finish(const Told& told) {
    const SimTime began = now_;
    drain();
    EXPECT_TRUE(told.is_done);
    return told.at - began;
  }
  // Runs everything that is under way to its end.
  void drain() {
    while (!events_.empty()) {
      pdes::ConditionalEvent& event = events_.take_earliest();
      now_ = event.time();
      event.fire();
    }
  }

  // The closed form of a message between a node and an I/O node.
  SimTime one_way(int, uint64_t bytes) const {
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
