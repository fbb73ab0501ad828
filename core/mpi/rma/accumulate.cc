// The effect of MPI_Accumulate and its relatives on the target's memory (MPI 4.1, section 12.3.4).
#include <vector>

#include "core/mpi/objects/datatype_predefined.h"
#include "core/mpi/objects/pack.h"
#include "core/mpi/rma/operation.h"

namespace sesame::mpi {

const DatatypeObject* element_of(const DatatypeObject& type) {
  if (type.is_predefined()) return &type;
  const DatatypeObject* element = nullptr;
  for (const DatatypeRef& below : type.type_map().types) {
    const DatatypeObject* found = element_of(*below);
    if (found == nullptr || (element != nullptr && found != element)) return nullptr;
    element = found;
  }
  return element;
}

// Reductions work on elements in their own layout.
void combine_packed(const char* data, char* packed, Count count, const DatatypeObject& element,
                    const OpObject& op) {
  std::vector<char> operand(static_cast<size_t>(count * element.extent()));
  std::vector<char> elements(operand.size());
  unpack_all(data, operand.data(), count, element);
  unpack_all(packed, elements.data(), count, element);
  reduce_local(operand.data(), elements.data(), count, element, op);
  pack_all(elements.data(), count, element, packed);
}

void accumulate(const char* data, Count bytes, const TypedBuffer& target_buffer,
                const OpObject& op) {
  if (op.handle() == MPI_NO_OP || bytes == 0) return;
  if (op.handle() == MPI_REPLACE) {
    unpack_range(data, target_buffer.address, target_buffer.count, *target_buffer.type, 0, bytes);
    return;
  }
  const DatatypeObject& element = *element_of(*target_buffer.type);
  const Count count = bytes / element.size();
  if (target_buffer.type->is_contiguous() && element.is_contiguous()) {
    reduce_local(data, target_buffer.address, count, element, op);
    return;
  }
  std::vector<char> packed(static_cast<size_t>(bytes));
  pack_range(target_buffer.address, target_buffer.count, *target_buffer.type, packed.data(), 0,
             bytes);
  combine_packed(data, packed.data(), count, element, op);
  unpack_range(packed.data(), target_buffer.address, target_buffer.count, *target_buffer.type, 0,
               bytes);
}

}  // namespace sesame::mpi
