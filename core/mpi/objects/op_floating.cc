#include <cstdint>
#include <cstring>

#include "core/mpi/objects/datatype_predefined.h"
#include "core/mpi/objects/op_reduction.h"

namespace sesame::mpi {
namespace {

// The upper half of an IEEE single-precision number. Results are computed in single precision and
// rounded to nearest even.
struct Bfloat16 {
  uint16_t bits;

  Bfloat16() = default;
  explicit Bfloat16(float value) {
    uint32_t word;
    std::memcpy(&word, &value, sizeof word);
    const bool is_nan = (word & 0x7fffffff) > 0x7f800000;
    // Rounding could carry a NaN into infinity: keep it quiet instead.
    bits = static_cast<uint16_t>(is_nan ? (word >> 16) | 0x40
                                        : (word + 0x7fff + ((word >> 16) & 1)) >> 16);
  }
  operator float() const {
    const uint32_t word = static_cast<uint32_t>(bits) << 16;
    float value;
    std::memcpy(&value, &word, sizeof value);
    return value;
  }
};

template <typename T>
ReduceFunction floating_loop(Op op) {
  return op == MPI_LXOR ? reduce_loop<T, LogicalXor> : arithmetic_loop<T>(op);
}

}  // namespace

ReduceFunction floating_reduction(Op op, BasicKind kind) {
  switch (kind) {
    case BasicKind::kFloat16:
      return floating_loop<_Float16>(op);
    case BasicKind::kBfloat16:
      return floating_loop<Bfloat16>(op);
    case BasicKind::kFloat32:
      return floating_loop<float>(op);
    case BasicKind::kFloat64:
      return floating_loop<double>(op);
    case BasicKind::kFloat80:
      return floating_loop<long double>(op);
    case BasicKind::kFloat128:
      return floating_loop<__float128>(op);
    default:
      return nullptr;
  }
}

}  // namespace sesame::mpi
