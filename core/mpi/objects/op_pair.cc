#include <cstdint>

#include "core/mpi/objects/datatype_predefined.h"
#include "core/mpi/objects/op_reduction.h"

namespace sesame::mpi {
namespace {

// The layout is that of the pair types, which are C structures.
template <typename Value, typename Index>
struct Located {
  Value value;
  Index index;
};

// The extreme value, and of equal values the lower index (MPI 4.1, section 6.9.4). If the values
// are equal (such as 0 and -0) or one is a NaN, the value stays that of `a`, as in MPICH and Open
// MPI.
template <typename Compare>
struct Extreme {
  template <typename T>
  static T combine(T a, T b) {
    if (a.value == b.value) return {a.value, a.index < b.index ? a.index : b.index};
    return Compare::combine(b.value, a.value) == b.value ? b : a;
  }
};

template <typename Value, typename Index>
ReduceFunction located_loop(Op op) {
  using Pair = Located<Value, Index>;
  if (op == MPI_MINLOC) return reduce_loop<Pair, Extreme<Smallest>>;
  if (op == MPI_MAXLOC) return reduce_loop<Pair, Extreme<Largest>>;
  return nullptr;
}

template <typename Value>
ReduceFunction indexed_loop(Op op, BasicKind index) {
  if (index == BasicKind::kInt32) return located_loop<Value, int32_t>(op);
  if (index == BasicKind::kInt64) return located_loop<Value, int64_t>(op);
  return nullptr;
}

}  // namespace

ReduceFunction pair_reduction(Op op, BasicKind value, BasicKind index) {
  // Fortran's pairs of reals keep the index in a real.
  if (value == BasicKind::kFloat32 && index == value) return located_loop<float, float>(op);
  if (value == BasicKind::kFloat64 && index == value) return located_loop<double, double>(op);
  switch (value) {
    case BasicKind::kInt8:
      return indexed_loop<int8_t>(op, index);
    case BasicKind::kInt16:
      return indexed_loop<int16_t>(op, index);
    case BasicKind::kInt32:
      return indexed_loop<int32_t>(op, index);
    case BasicKind::kInt64:
      return indexed_loop<int64_t>(op, index);
    case BasicKind::kUint8:
      return indexed_loop<uint8_t>(op, index);
    case BasicKind::kUint16:
      return indexed_loop<uint16_t>(op, index);
    case BasicKind::kUint32:
      return indexed_loop<uint32_t>(op, index);
    case BasicKind::kUint64:
      return indexed_loop<uint64_t>(op, index);
    case BasicKind::kFloat32:
      return indexed_loop<float>(op, index);
    case BasicKind::kFloat64:
      return indexed_loop<double>(op, index);
    case BasicKind::kFloat80:
      return indexed_loop<long double>(op, index);
    case BasicKind::kFloat128:
      return indexed_loop<__float128>(op, index);
    default:
      return nullptr;
  }
}

}  // namespace sesame::mpi
