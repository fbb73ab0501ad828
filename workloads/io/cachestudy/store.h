// Where the study's file lies. The study sees only this: a real file system and a simulated store
// whose caches are known stand behind it, so that its verdicts can be checked.
//
// One file at a time. Offsets and sizes are multiples of kStampBytes. Every stretch of kStampBytes
// begins with a word that says where it belongs: what is read can be checked.
#ifndef WORKLOADS_IO_CACHESTUDY_STORE_H_
#define WORKLOADS_IO_CACHESTUDY_STORE_H_

#include <span>

namespace sesame::workload {

constexpr long kStampBytes = 4096;

class Store {
 public:
  virtual ~Store() = default;

  // A new file without contents, in place of the one before. Of the ranks that share the store one
  // calls create; afterwards all open.
  virtual void create(long bytes) = 0;
  virtual void open() = 0;

  virtual void read(long offset, std::span<char> data) = 0;
  virtual void write(long offset, std::span<const char> data) = 0;

  // Returns when what was written is on the device.
  virtual void synchronize() = 0;
  // Afterwards reads come from the device: nothing of the file is in a cache that can be emptied.
  virtual void flush() = 0;

  // Time, s.
  virtual double now() const = 0;
};

}  // namespace sesame::workload

#endif  // WORKLOADS_IO_CACHESTUDY_STORE_H_
