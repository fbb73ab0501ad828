// A periodic field on a grid, shared out to ranks, and its Fourier transform.
//
// In space a rank has all of x, a part of y and a part of z; in the spectrum a part of x, a part
// of y and all of z. With few ranks only z, or y, is divided (slabs): one exchange for each
// transform. With more, ranks form a grid and also divide x (pencils): two exchanges.
#ifndef WORKLOADS_NPB_FT_SPECTRUM_H_
#define WORKLOADS_NPB_FT_SPECTRUM_H_

#include <mpi.h>

#include <array>
#include <vector>

#include "kit/phases.h"
#include "npb/ft/lines.h"

namespace sesame::workload {

class Spectrum {
 public:
  // The numbers of points along x, y, z are powers of two. Throws UsageError when there are too
  // many ranks. Adds its own phases to `phases`, which must outlive it.
  Spectrum(std::array<int, 3> points, Phases& phases);
  ~Spectrum();
  Spectrum(const Spectrum&) = delete;
  Spectrum& operator=(const Spectrum&) = delete;

  // This rank's share of an axis; x runs fastest.
  struct Share {
    int begin, size;
  };
  const std::array<Share, 3>& in_space() const { return space_; }
  const std::array<Share, 3>& in_spectrum() const { return spectrum_; }
  long local_size() const { return local_size_; }

  void forward(std::vector<Complex>& data);
  void inverse(std::vector<Complex>& data);

 private:
  void transform(int axis, Direction direction, long outer, long inner, std::vector<Complex>& data);

  // A block [outer][middle][inner] whose middle axis is cut into one block for each rank.
  struct Cut {
    long outer, middle, inner;
  };

  static void pack(const Cut& cut, int blocks, const Complex* from, Complex* to);
  static void unpack(const Cut& cut, int blocks, const Complex* from, Complex* to);
  // The block k of `sent`'s cut goes to rank k of `comm`; what comes is the cut of `received`.
  void exchange(MPI_Comm comm, const Cut& sent, const Cut& received, std::vector<Complex>& data);

  Phases& phases_;
  int transform_phase_, exchange_phase_;
  int x_ranks_, z_ranks_;  // ranks that divide x (and y in space), and z (and y in the spectrum)
  MPI_Comm x_comm_, z_comm_;
  std::array<Share, 3> space_, spectrum_;
  long local_size_;
  std::array<Cut, 2> xy_;  // the exchange that makes y whole: before, after
  std::array<Cut, 2> yz_;  // the exchange that makes z whole
  std::vector<LineTransform> lines_;
  std::vector<Complex> scratch_;
};

}  // namespace sesame::workload

#endif  // WORKLOADS_NPB_FT_SPECTRUM_H_
