#include "core/mpi/objects/datatype_predefined.h"
#include "core/mpi/objects/op_reduction.h"

namespace sesame::mpi {
namespace {

template <typename T>
struct Complex {
  T real, imaginary;

  friend Complex operator+(Complex a, Complex b) {
    return {static_cast<T>(a.real + b.real), static_cast<T>(a.imaginary + b.imaginary)};
  }
  friend Complex operator*(Complex a, Complex b) {
    return {static_cast<T>(a.real * b.real - a.imaginary * b.imaginary),
            static_cast<T>(a.real * b.imaginary + a.imaginary * b.real)};
  }
};

template <typename T>
ReduceFunction complex_loop(Op op) {
  if (op == MPI_SUM) return reduce_loop<Complex<T>, Sum>;
  if (op == MPI_PROD) return reduce_loop<Complex<T>, Product>;
  return nullptr;
}

}  // namespace

ReduceFunction complex_reduction(Op op, BasicKind kind) {
  switch (kind) {
    case BasicKind::kComplexFloat16:
      return complex_loop<_Float16>(op);
    case BasicKind::kComplexFloat32:
      return complex_loop<float>(op);
    case BasicKind::kComplexFloat64:
      return complex_loop<double>(op);
    case BasicKind::kComplexFloat80:
      return complex_loop<long double>(op);
    case BasicKind::kComplexFloat128:
      return complex_loop<__float128>(op);
    default:
      return nullptr;
  }
}

}  // namespace sesame::mpi
