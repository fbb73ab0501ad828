// Times passes over the file of a store, by all ranks of a communicator together: transfer i is
// that of rank i modulo their number. All functions are collective over the communicator.
#ifndef WORKLOADS_IO_CACHESTUDY_SAMPLER_H_
#define WORKLOADS_IO_CACHESTUDY_SAMPLER_H_

#include <mpi.h>

#include <memory>
#include <string>
#include <vector>

#include "io/cachestudy/store.h"

namespace sesame::workload {

enum class Mode { kRead, kWrite, kUpdate };  // update: reads each transfer and writes it back
// Scattered: one of kScatter transfers in random order, too far apart for read-ahead to
// help.
enum class Order { kSequential, kScattered };
constexpr long kScatter = 16;

std::string name_of(Mode mode);

// A rate is the median of `groups` means of `averaged` passes each: an odd observation does not
// count, and caches are warm (El-Ghazawi's filter).
struct Filter {
  int averaged = 2;
  int groups = 3;
};

struct Rate {
  double median, least, most;  // of the means, bytes/s
};

class Sampler {
 public:
  // `warm`: passes follow each other, and one comes before those that are timed; else the caches
  // are emptied before each.
  Sampler(Store& store, MPI_Comm comm, Filter filter, bool warm);

  // Makes a new file, writes it in full and syncs it to the device.
  void make_file(long bytes);

  Rate measure(Mode mode, long transfer);
  // One pass, s.
  double pass(Mode mode, long transfer, Order order = Order::kSequential);
  // How many transfers a pass has, of all ranks.
  long transfers(long transfer, Order order) const;
  // How long each of this rank's transfers of the last pass took, s.
  const std::vector<double>& transfer_times() const { return transfer_times_; }

  void flush();
  // Time to sync written data to the device, s.
  double synchronize();

  long file_bytes() const { return file_bytes_; }
  // How many words this rank read that differ from what was written.
  long misread() const { return misread_; }

 private:
  struct Free {
    void operator()(char* data) const;
  };

  void stamp(long offset, long bytes);
  void verify(long offset, long bytes);
  void transfer_once(Mode mode, long offset, long bytes);
  double slowest(double seconds) const;
  void resize_buffer(long bytes);

  Store& store_;
  MPI_Comm comm_;
  Filter filter_;
  bool warm_;
  int rank_ = 0, ranks_ = 1;
  long file_bytes_ = 0, file_number_ = 0, buffer_bytes_ = 0, misread_ = 0;
  std::unique_ptr<char[], Free> buffer_;  // aligned as direct input and output need it
  std::vector<double> transfer_times_;
};

}  // namespace sesame::workload

#endif  // WORKLOADS_IO_CACHESTUDY_SAMPLER_H_
