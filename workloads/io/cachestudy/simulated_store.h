// A store with caches of known size and known times on a clock of its own, to check the study with.
// Reads use an LRU cache with read-ahead on a miss. Writes go into a buffer that the device empties
// in the background; when it is full a write waits for the oldest block. Holds one word for each
// kStampBytes, and no data.
#ifndef WORKLOADS_IO_CACHESTUDY_SIMULATED_STORE_H_
#define WORKLOADS_IO_CACHESTUDY_SIMULATED_STORE_H_

#include <cstdint>
#include <deque>
#include <list>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "io/cachestudy/store.h"

namespace sesame::workload {

struct SimulatedSizes {
  long read_cache = 0;   // bytes; 0: there is none
  long write_cache = 0;  // bytes; 0: there is none
  int read_ahead = 0;    // blocks beyond those asked for
};

class SimulatedStore : public Store {
 public:
  static constexpr long kBlockBytes = 4 * kStampBytes;
  static constexpr double kCallS = 5e-6;           // of each read or write
  static constexpr double kMemoryBytesPerS = 4e9;  // of what a cache holds
  static constexpr double kDeviceBytesPerS = 2e8;
  static constexpr double kAccessS = 100e-6;  // of each request to the device

  explicit SimulatedStore(SimulatedSizes sizes) : sizes_(sizes) {}

  void create(long bytes) override;
  void open() override {}
  void read(long offset, std::span<char> data) override;
  void write(long offset, std::span<const char> data) override;
  void synchronize() override;
  void flush() override;
  double now() const override { return now_; }

 private:
  bool is_cached(long block);
  void keep(long block);
  void fetch(long first, long blocks);
  void accept(long block);
  void drain();

  SimulatedSizes sizes_;
  double now_ = 0;
  std::vector<std::uint64_t> stamps_;
  std::list<long> recent_;  // blocks of the read cache, last used first
  std::unordered_map<long, std::list<long>::iterator> cached_;
  std::deque<long> dirty_;  // blocks of the write buffer, oldest first
  std::unordered_set<long> is_dirty_;
  double device_free_ = 0;  // time at which the device completes its current block
};

}  // namespace sesame::workload

#endif  // WORKLOADS_IO_CACHESTUDY_SIMULATED_STORE_H_
