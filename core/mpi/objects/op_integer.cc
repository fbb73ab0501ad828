#include <cstdint>

#include "core/mpi/objects/datatype_predefined.h"
#include "core/mpi/objects/op_reduction.h"

namespace sesame::mpi {
namespace {

// Signed sums and products wrap around, as in programs that compilers make. They are computed
// unsigned, because signed overflow is undefined.
template <typename Signed, typename Unsigned>
ReduceFunction signed_loop(Op op) {
  if (op == MPI_SUM || op == MPI_PROD) return arithmetic_loop<Unsigned>(op);
  if (op == MPI_MAX || op == MPI_MIN) return arithmetic_loop<Signed>(op);
  if (ReduceFunction function = logical_loop<Unsigned>(op)) return function;
  return bitwise_loop<Unsigned>(op);
}

template <typename Unsigned>
ReduceFunction unsigned_loop(Op op) {
  return signed_loop<Unsigned, Unsigned>(op);
}

}  // namespace

ReduceFunction integer_reduction(Op op, BasicKind kind) {
  switch (kind) {
    case BasicKind::kBytes:
      return bitwise_loop<uint8_t>(op);
    case BasicKind::kInt8:
      return signed_loop<int8_t, uint8_t>(op);
    case BasicKind::kInt16:
      return signed_loop<int16_t, uint16_t>(op);
    case BasicKind::kInt32:
      return signed_loop<int32_t, uint32_t>(op);
    case BasicKind::kInt64:
      return signed_loop<int64_t, uint64_t>(op);
    case BasicKind::kInt128:
      return signed_loop<__int128, unsigned __int128>(op);
    case BasicKind::kUint8:
      return unsigned_loop<uint8_t>(op);
    case BasicKind::kUint16:
      return unsigned_loop<uint16_t>(op);
    case BasicKind::kUint32:
      return unsigned_loop<uint32_t>(op);
    case BasicKind::kUint64:
      return unsigned_loop<uint64_t>(op);
    default:
      return nullptr;
  }
}

}  // namespace sesame::mpi
