// What MPI_Accumulate and its relatives do at the target (MPI 4.1, section 12.3.4).
#include <vector>

#include "core/mpi/objects/datatype_predefined.h"
#include "core/mpi/objects/pack.h"
#include "core/mpi/rma/operation.h"

namespace sesame::mpi {

const DatatypeObject* element_of(const DatatypeObject& type) {
  if (type.is_predefined()) return &type;
  const DatatypeObject* element = nullptr;
  for (const DatatypeRef& part : type.type_map().types) {
    const DatatypeObject* found = element_of(*part);
    if (found == nullptr || (element != nullptr && found != element)) return nullptr;
    element = found;
  }
  return element;
}

void accumulate(const char* data, Count bytes, const TypedBuffer& there, const OpObject& op) {
  if (op.handle() == MPI_NO_OP || bytes == 0) return;
  if (op.handle() == MPI_REPLACE) {
    unpack_range(data, there.address, there.count, *there.type, 0, bytes);
    return;
  }
  const DatatypeObject& element = *element_of(*there.type);
  const Count count = bytes / element.size();
  if (there.type->is_contiguous() && element.is_contiguous()) {
    reduce_local(data, there.address, count, element, op);
    return;
  }
  // Reductions work on elements in their own layout.
  std::vector<char> packed(static_cast<size_t>(bytes));
  std::vector<char> brought(static_cast<size_t>(count * element.extent()));
  std::vector<char> held(brought.size());
  unpack_all(data, brought.data(), count, element);
  pack_range(there.address, there.count, *there.type, packed.data(), 0, bytes);
  unpack_all(packed.data(), held.data(), count, element);
  reduce_local(brought.data(), held.data(), count, element, op);
  pack_all(held.data(), count, element, packed.data());
  unpack_range(packed.data(), there.address, there.count, *there.type, 0, bytes);
}

}  // namespace sesame::mpi
