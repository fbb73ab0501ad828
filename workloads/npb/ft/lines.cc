#include "npb/ft/lines.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace sesame::workload {
namespace {

constexpr int kBatch = 16;  // lines at a time: a batch fits in the second cache

struct Twiddle {
  double re, im;
};

}  // namespace

LineTransform::LineTransform(int length)
    : length_(length), cosine_(length), sine_(length), buffer_(4L * kBatch * length) {
  for (int k = 0; k < length; ++k) {
    const double angle = -2 * std::numbers::pi * k / length;
    cosine_[k] = std::cos(angle);
    sine_[k] = std::sin(angle);
  }
}

void LineTransform::transform(Direction direction, long outer, long inner, Complex* data) {
  if (inner == 1) {
    for (long line = 0; line < outer; line += kBatch) {
      const int count = static_cast<int>(std::min<long>(kBatch, outer - line));
      transform_batch(direction, data + line * length_, 1, length_, count);
    }
    return;
  }
  for (long i = 0; i < outer; ++i) {
    for (long line = 0; line < inner; line += kBatch) {
      const int count = static_cast<int>(std::min<long>(kBatch, inner - line));
      transform_batch(direction, data + i * length_ * inner + line, inner, 1, count);
    }
  }
}

// `element` and `line` are the distances between elements of a line and between lines.
void LineTransform::transform_batch(Direction direction, Complex* data, long element, long line,
                                    int count) {
  const long size = static_cast<long>(length_) * count;
  SplitComplex from{buffer_.data(), buffer_.data() + size};
  SplitComplex to{buffer_.data() + 2 * size, buffer_.data() + 3 * size};
  for (long j = 0; j < length_; ++j) {
    const Complex* values = data + j * element;
    for (int b = 0; b < count; ++b) {
      from.re[j * count + b] = values[b * line].real();
      from.im[j * count + b] = values[b * line].imag();
    }
  }
  // The inverse is the forward transform with real and imaginary parts exchanged.
  const bool inverse = direction == Direction::kInverse;
  if (inverse) std::swap(from.re, from.im);
  SplitComplex result = run(from, to, count);
  if (inverse) std::swap(result.re, result.im);
  for (long j = 0; j < length_; ++j) {
    Complex* values = data + j * element;
    for (int b = 0; b < count; ++b) {
      values[b * line] = {result.re[j * count + b], result.im[j * count + b]};
    }
  }
}

// Stockham's self-sorting form: passes go from one buffer to the other, and the stride grows as
// the transforms that are left get shorter. A batch of lines is a first stride of their number.
LineTransform::SplitComplex LineTransform::run(SplitComplex from, SplitComplex to,
                                               int count) const {
  long stride = count;
  int length = length_;
  while (length > 1) {
    if (length % 4 == 0) {
      pass_of_four(length, stride, from, to);
      length /= 4;
      stride *= 4;
    } else {
      pass_of_two(length, stride, from, to);
      length /= 2;
      stride *= 2;
    }
    std::swap(from, to);
  }
  return from;
}

void LineTransform::pass_of_two(int length, long stride, SplitComplex from, SplitComplex to) const {
  const int half = length / 2;
  for (int p = 0; p < half; ++p) {
    const Twiddle w{cosine_[p * (length_ / length)], sine_[p * (length_ / length)]};
    const double* __restrict a_re = from.re + stride * p;
    const double* __restrict a_im = from.im + stride * p;
    const double* __restrict b_re = from.re + stride * (p + half);
    const double* __restrict b_im = from.im + stride * (p + half);
    double* __restrict y_re = to.re + stride * 2 * p;
    double* __restrict y_im = to.im + stride * 2 * p;
    for (long q = 0; q < stride; ++q) {
      const double re = a_re[q] - b_re[q], im = a_im[q] - b_im[q];
      y_re[q] = a_re[q] + b_re[q];
      y_im[q] = a_im[q] + b_im[q];
      y_re[q + stride] = re * w.re - im * w.im;
      y_im[q + stride] = re * w.im + im * w.re;
    }
  }
}

void LineTransform::pass_of_four(int length, long stride, SplitComplex from,
                                 SplitComplex to) const {
  const int quarter = length / 4;
  const long far = stride * quarter;
  for (int p = 0; p < quarter; ++p) {
    const int k = p * (length_ / length);
    const Twiddle w1{cosine_[k], sine_[k]}, w2{cosine_[2 * k], sine_[2 * k]},
        w3{cosine_[3 * k], sine_[3 * k]};
    const double* __restrict x_re = from.re + stride * p;
    const double* __restrict x_im = from.im + stride * p;
    double* __restrict y_re = to.re + stride * 4 * p;
    double* __restrict y_im = to.im + stride * 4 * p;
    for (long q = 0; q < stride; ++q) {
      const double even_re = x_re[q] + x_re[q + 2 * far], even_im = x_im[q] + x_im[q + 2 * far];
      const double less_re = x_re[q] - x_re[q + 2 * far], less_im = x_im[q] - x_im[q + 2 * far];
      const double odd_re = x_re[q + far] + x_re[q + 3 * far];
      const double odd_im = x_im[q + far] + x_im[q + 3 * far];
      // i times the difference of the odd ones
      const double turn_re = x_im[q + 3 * far] - x_im[q + far];
      const double turn_im = x_re[q + far] - x_re[q + 3 * far];
      const double t1_re = less_re - turn_re, t1_im = less_im - turn_im;
      const double t2_re = even_re - odd_re, t2_im = even_im - odd_im;
      const double t3_re = less_re + turn_re, t3_im = less_im + turn_im;
      y_re[q] = even_re + odd_re;
      y_im[q] = even_im + odd_im;
      y_re[q + stride] = t1_re * w1.re - t1_im * w1.im;
      y_im[q + stride] = t1_re * w1.im + t1_im * w1.re;
      y_re[q + 2 * stride] = t2_re * w2.re - t2_im * w2.im;
      y_im[q + 2 * stride] = t2_re * w2.im + t2_im * w2.re;
      y_re[q + 3 * stride] = t3_re * w3.re - t3_im * w3.im;
      y_im[q + 3 * stride] = t3_re * w3.im + t3_im * w3.re;
    }
  }
}

}  // namespace sesame::workload
