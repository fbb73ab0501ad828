// The interface through which the study accesses its file. It is implemented by a real file system
// and by a simulated store with known caches, with which the study's verdicts are verified.
//
// One file at a time. Offsets and sizes are multiples of kStampBytes. Every kStampBytes
// begin with a word that holds their offset, so that reads can be verified.
#ifndef WORKLOADS_IO_CACHESTUDY_STORE_H_
#define WORKLOADS_IO_CACHESTUDY_STORE_H_

#include <span>

namespace sesame::workload {

constexpr long kStampBytes = 4096;

class Store {
 public:
  virtual ~Store() = default;

  // Makes an empty file in place of the previous one. One of the ranks that share the store calls
  // create(); afterwards all call open().
  virtual void create(long bytes) = 0;
  virtual void open() = 0;

  virtual void read(long offset, std::span<char> data) = 0;
  virtual void write(long offset, std::span<const char> data) = 0;

  // Returns when what was written is on the device.
  virtual void synchronize() = 0;
  // Empties all caches that can be emptied, so that later reads come from the device.
  virtual void flush() = 0;

  // Time, s.
  virtual double now() const = 0;
};

}  // namespace sesame::workload

#endif  // WORKLOADS_IO_CACHESTUDY_STORE_H_
