// Fourier transforms of many lines of the same length, a power of two.
#ifndef WORKLOADS_NPB_FT_LINES_H_
#define WORKLOADS_NPB_FT_LINES_H_

#include <complex>
#include <vector>

namespace sesame::workload {

using Complex = std::complex<double>;

enum class Direction { kForward, kInverse };  // exp(-i…), exp(+i…); neither is scaled

class LineTransform {
 public:
  explicit LineTransform(int length);

  // Transforms along the middle axis of data[outer][length][inner].
  void transform(Direction direction, long outer, long inner, Complex* data);

 private:
  // Real and imaginary parts apart, so that the compiler can work on several lines at once.
  struct SplitComplex {
    double *re, *im;
  };

  void transform_batch(Direction direction, Complex* data, long element, long line, int count);
  SplitComplex run(SplitComplex from, SplitComplex to, int count) const;
  void pass_of_two(int length, long stride, SplitComplex from, SplitComplex to) const;
  void pass_of_four(int length, long stride, SplitComplex from, SplitComplex to) const;

  int length_;
  std::vector<double> cosine_, sine_;  // of exp(-2 pi i k / length)
  std::vector<double> buffer_;
};

}  // namespace sesame::workload

#endif  // WORKLOADS_NPB_FT_LINES_H_
