// Several lines of the grid at once, one in each lane of a vector register: the line solvers are
// sequential along a line, but lines do not depend on each other.
#ifndef WORKLOADS_NPB_CFD_LANES_H_
#define WORKLOADS_NPB_CFD_LANES_H_

#include "npb/cfd/subdomain.h"

namespace sesame::workload::cfd {

// The width of the widest vector registers for which the program is compiled, in doubles.
#if defined(__AVX512F__)
inline constexpr int kLanes = 8;
#elif defined(__AVX__)
inline constexpr int kLanes = 4;
#else
inline constexpr int kLanes = 2;
#endif

typedef double Lanes __attribute__((vector_size(kLanes * sizeof(double))));

// Where the lines of a batch begin: array offsets, in points, of their first inner point. In the
// last batch the lanes beyond `lines` repeat the last line and are not stored.
struct Batch {
  int lines;
  long state_at[kLanes], residual_at[kLanes];
};

// The lines of a subdomain in direction `d`, through its inner points.
class Lines {
 public:
  Lines(const Subdomain& subdomain, int d)
      : subdomain_(subdomain), d_(d), inner_(d == 0 ? 1 : 0), outer_(d == 2 ? 1 : 2) {
    wide_ = subdomain.inner_end(inner_) - subdomain.inner_begin(inner_);
    count_ = wide_ * (subdomain.inner_end(outer_) - subdomain.inner_begin(outer_));
  }

  int batches() const { return (count_ + kLanes - 1) / kLanes; }
  // Points of a line.
  int length() const { return subdomain_.inner_end(d_) - subdomain_.inner_begin(d_); }

  Batch batch(int number) const {
    Batch batch;
    batch.lines = std::min(kLanes, count_ - number * kLanes);
    for (int lane = 0; lane < kLanes; ++lane) {
      const int line = number * kLanes + std::min(lane, batch.lines - 1);
      Index at;
      at[d_] = subdomain_.inner_begin(d_);
      at[inner_] = subdomain_.inner_begin(inner_) + line % wide_;
      at[outer_] = subdomain_.inner_begin(outer_) + line / wide_;
      batch.state_at[lane] = subdomain_.state_at.at(at[0], at[1], at[2]);
      batch.residual_at[lane] = subdomain_.residual_at.at(at[0], at[1], at[2]);
    }
    return batch;
  }

 private:
  const Subdomain& subdomain_;
  int d_, inner_, outer_;
  int wide_ = 0, count_ = 0;
};

// array[offset of each lane + shift], in doubles.
inline Lanes gather(const double* array, const long* offset, int doubles_a_point, long shift) {
  Lanes result;
  for (int lane = 0; lane < kLanes; ++lane) {
    result[lane] = array[offset[lane] * doubles_a_point + shift];
  }
  return result;
}

}  // namespace sesame::workload::cfd

#endif  // WORKLOADS_NPB_CFD_LANES_H_
