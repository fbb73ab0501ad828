#include <cstdint>

#include "core/mpi/objects/datatype_predefined.h"
#include "core/mpi/objects/op_reduction.h"

namespace sesame::mpi {

ReduceFunction logical_reduction(Op op, BasicKind kind) {
  switch (kind) {
    case BasicKind::kBool:
    case BasicKind::kLogical8:
      return logical_loop<uint8_t>(op);
    case BasicKind::kLogical16:
      return logical_loop<uint16_t>(op);
    case BasicKind::kLogical32:
      return logical_loop<uint32_t>(op);
    case BasicKind::kLogical64:
      return logical_loop<uint64_t>(op);
    case BasicKind::kLogical128:
      return logical_loop<unsigned __int128>(op);
    default:
      return nullptr;
  }
}

}  // namespace sesame::mpi
