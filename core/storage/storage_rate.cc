// Measures how many block requests per second of CPU time the full model of a file system
// simulates. Ranks read and write 1 to 4 blocks at random offsets of a shared file, 80 % reads, one
// request after the other. bench/storage_rate.py runs it. Arguments: policy ("none": no caches),
// requests. Prints blocks, requests, seconds of CPU time and blocks read from devices.
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string_view>
#include <vector>

#include "core/machine/machine.h"
#include "core/storage/make_file_system.h"

namespace sesame::storage {
namespace {

constexpr int kRanks = 64;
constexpr uint64_t kBlock = 4096;
constexpr uint64_t kFileBlocks = 1 << 15;

machine::Machine machine_of() {
  auto machine = machine::parse_machine(R"(
name = "rate"
nodes = 64
[node.network]
latency = "1 us"
bandwidth = "5 GB/s"
[network]
latency = "20 us"
bandwidth = "100 MB/s"
send_overhead = "2 us"
receive_overhead = "3 us"
[topology]
kind = "mesh"
dims = [8, 8]
)",
                                        "rate.toml");
  if (!machine) std::abort();
  return *machine;
}

machine::StorageParameters parameters_of(std::string_view policy) {
  using machine::CachePolicy;
  machine::StorageParameters parameters;
  parameters.ionodes = 8;
  parameters.block = kBlock;
  parameters.client_overhead = SimTime::from_ns(5000);
  parameters.server_overhead = SimTime::from_ns(20'000);
  parameters.device.read_latency = parameters.device.write_latency = SimTime::from_ns(5'000'000);
  parameters.device.read_bandwidth = parameters.device.write_bandwidth = 10e6;
  if (policy == "none") return parameters;
  parameters.cnode_cache.size = 512 * kBlock;
  parameters.ionode_cache.size = 1024 * kBlock;
  parameters.policy = policy == "global"        ? CachePolicy::kGlobal
                      : policy == "coordinated" ? CachePolicy::kCoordinated
                      : policy == "greedy"      ? CachePolicy::kGreedy
                                                : CachePolicy::kBase;
  return parameters;
}

struct Rank : Completion {
  void done(SimTime at) override {
    if (*left == 0) return;
    --*left;
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    const uint64_t chance = state >> 33;
    const uint64_t blocks = 1 + chance % 4;
    extent = {(chance >> 8) % (kFileBlocks - 4) * kBlock, blocks * kBlock};
    *requested += blocks;
    const auto direction = (chance >> 2) % 5 == 0 ? Direction::kWrite : Direction::kRead;
    system->access(at, {direction, file, {number, number, &interface_free}, {&extent, 1}}, *this);
  }
  FileSystem* system = nullptr;
  FileId file{};
  int number = 0;
  uint64_t state = 0;
  uint64_t* left = nullptr;
  uint64_t* requested = nullptr;
  Extent extent;
  SimTime interface_free;
};

int run(std::string_view policy, uint64_t requests) {
  const machine::Machine machine = machine_of();
  const auto network = network::Network::create(machine, kRanks);
  pdes::EventQueue events;
  if (!network) return 1;
  const auto system = make_file_system(parameters_of(policy), *network, events, 1);
  const FileId file = system->find_file("/file");
  system->resize(file, kFileBlocks * kBlock);
  uint64_t left = requests;
  uint64_t blocks = 0;
  std::vector<Rank> ranks(kRanks);
  const std::clock_t begin = std::clock();
  for (int i = 0; i < kRanks; ++i) {
    Rank& rank = ranks[static_cast<size_t>(i)];
    rank.system = system.get();
    rank.file = file;
    rank.number = i;
    rank.state = static_cast<uint64_t>(i) + 1;
    rank.left = &left;
    rank.requested = &blocks;
    rank.done(SimTime::zero());
  }
  while (!events.empty()) events.take_earliest().fire();
  const double took = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  uint64_t from_device = 0;
  for (const IonodeStatistics& ionode : system->statistics().ionodes)
    from_device += ionode.device.bytes_read / kBlock;
  std::printf("%llu %llu %.6f %llu\n", static_cast<unsigned long long>(blocks),
              static_cast<unsigned long long>(requests), took,
              static_cast<unsigned long long>(from_device));
  return 0;
}

}  // namespace
}  // namespace sesame::storage

int main(int argc, char** argv) {
  const std::string_view policy = argc > 1 ? argv[1] : "base";
  const uint64_t requests = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1'000'000;
  return sesame::storage::run(policy, requests);
}
