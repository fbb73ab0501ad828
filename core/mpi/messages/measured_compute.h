// One rank's measured compute times: all of them, for a later run that repeats them (compute mode
// recorded), and how much samples of the same region differ. A region is the computation between
// two call sites of MPI in the program; each time that the rank executes it is a sample.
//
// Use: add() once for each call, then times_ps() or spread() at the end of the run. The rank owns
// the object; memory grows with the calls (8 bytes each) and the regions. Times are host times,
// unscaled. Nothing here fails. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/base/units.h"

namespace sesame::mpi {

// How the samples of a rank's regions differ. The last three leave out the first sample of each
// region, which runs with cold caches, and regions with fewer than three samples.
struct ComputeSpread {
  uint64_t samples = 0;
  uint64_t regions = 0;
  int64_t total_ps = 0;
  int64_t short_ps = 0;       // of total_ps: in samples of at most `short_limit`
  int64_t repeated_ps = 0;    // sum of the samples
  int64_t difference_ps = 0;  // sum of |sample - previous sample of the same region|
  int64_t fastest_ps = 0;     // the sum if each sample were as fast as the fastest of its region

  ComputeSpread& operator+=(const ComputeSpread& other);
};

class MeasuredCompute {
 public:
  // `keeps_times`: for times_ps(). `samples_regions`: for spread(). Samples up to `short_limit` are
  // too close to the clock's resolution to be compared.
  MeasuredCompute(bool keeps_times, bool samples_regions, SimTime short_limit)
      : short_limit_(short_limit), keeps_times_(keeps_times), samples_regions_(samples_regions) {}

  // Adds the computation before a call. `caller`: the return address of the call, which identifies
  // the call site. `polling`: the call is a poll (ComputeEnd::kPoll).
  void add(const void* caller, SimTime host, bool polling) {
    if (keeps_times_) times_ps_.push_back(polling ? ~host.ps() : host.ps());
    if (samples_regions_) sample(caller, host);
  }

  // Before each call, ~t for the time t before a poll.
  const std::vector<int64_t>& times_ps() const { return times_ps_; }
  ComputeSpread spread() const;

 private:
  struct Region {
    const void* from;
    const void* to;
    bool operator==(const Region&) const = default;
  };
  struct Hash {
    size_t operator()(const Region& region) const {
      return (reinterpret_cast<uintptr_t>(region.from) * 31 ^
              reinterpret_cast<uintptr_t>(region.to)) *
             0x9e3779b97f4a7c15;
    }
  };
  struct Samples {
    uint64_t count = 0;
    int64_t last_ps = 0;
    int64_t fastest_ps = INT64_MAX;
    int64_t sum_ps = 0;  // these two without the first sample
    int64_t difference_ps = 0;
  };

  void sample(const void* caller, SimTime host);

  std::vector<int64_t> times_ps_;
  std::unordered_map<Region, Samples, Hash> regions_;
  const void* last_caller_ = nullptr;
  uint64_t samples_ = 0;
  int64_t total_ps_ = 0;
  int64_t short_ps_ = 0;
  SimTime short_limit_;
  bool keeps_times_;
  bool samples_regions_;
};

}  // namespace sesame::mpi
