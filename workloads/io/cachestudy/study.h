// The experiments, after T. El-Ghazawi: Characteristics of the MasPar Parallel I/O System, 1995.
#ifndef WORKLOADS_IO_CACHESTUDY_STUDY_H_
#define WORKLOADS_IO_CACHESTUDY_STUDY_H_

#include <string>
#include <vector>

#include "io/cachestudy/sampler.h"

namespace sesame::workload {

struct Plan {
  long smallest, largest;  // files, bytes
  long transfer;           // bytes
  double precision;        // ratio of the sizes between which the edge of a cache is looked for
};

struct Point {
  long bytes;  // of the file or the transfer
  Rate rate;
};

// Rates by size of the file: sizes that double, then more and more where the rate falls most from
// one size to the next, and where it does so once more among larger files: behind the edge of the
// processor's cache there is often that of the page cache.
std::vector<Point> sweep_files(Sampler& sampler, Mode mode, const Plan& plan);

// Where the rate falls most: between files of these sizes, bytes. Zeros where it hardly falls.
struct Edge {
  long fits = 0, exceeds = 0;
  bool found() const { return exceeds > 0; }
  double bytes() const;  // the mean of both on a scale of logarithms
};
Edge steepest(const std::vector<Point>& points);

// Rates by size of the transfers, of the sampler's file.
std::vector<Point> sweep_transfers(Sampler& sampler, Mode mode, const Plan& plan);

// A pass of reads and the share of its transfers that took about as long as from memory.
struct ReadPass {
  std::string name;
  double rate;          // bytes/s
  double found_cached;  // 0 to 1
};

// With emptied caches in order, once more without emptying them, and with emptied caches scattered.
// `memory_s`: how long a transfer from memory takes; 0: as long as those of the second pass.
struct Prefetch {
  std::vector<ReadPass> passes;
  double memory_s;
  // Were more transfers as fast as from memory when they came in order?
  bool reads_ahead() const;
};
Prefetch study_prefetch(Sampler& sampler, long transfer, double memory_s);

// Time until the last write returns, and until all is on the device, s.
struct WriteBehind {
  double returned, on_device;
};
WriteBehind study_write_behind(Sampler& sampler, long transfer);

}  // namespace sesame::workload

#endif  // WORKLOADS_IO_CACHESTUDY_STUDY_H_
