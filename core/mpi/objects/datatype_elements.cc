#include "core/mpi/objects/datatype_elements.h"

#include <algorithm>

#include "core/mpi/objects/datatype_query.h"
#include "core/mpi/objects/datatype_table.h"

namespace sesame::mpi {
namespace {

// Subtracts whole elements of at most `copies` copies of `type` from *bytes and returns their
// number. The rest of *bytes is beyond the copies or an incomplete element.
Count take_elements(const DatatypeObject& type, Count copies, Count* bytes) {
  if (type.size() == 0) return 0;
  const Count whole = std::min(copies, *bytes / type.size());
  Count elements = whole * type.bounds().element_count;
  *bytes -= whole * type.size();
  if (whole == copies || *bytes == 0) return elements;
  const TypeMap& type_map = type.type_map();
  if (type_map.kind == TypeMap::Kind::kBasic) return elements;
  for (Count i = 0; i<type_map.count&& * bytes> 0; ++i) {
    const DatatypeObject& block = type_map.block_type(i);
    const Count before = *bytes, block_bytes = type_map.block_length(i) * block.size();
    elements += take_elements(block, type_map.block_length(i), bytes);
    if (*bytes > 0 && before - *bytes < block_bytes) break;  // an incomplete element
  }
  return elements;
}

// The bytes of the first *elements elements of at most `copies` copies; subtracts these elements
// from *elements.
Count take_bytes(const DatatypeObject& type, Count copies, Count* elements) {
  const Count per_copy = type.bounds().element_count;
  if (per_copy == 0) return 0;
  const Count whole = std::min(copies, *elements / per_copy);
  Count bytes = whole * type.size();
  *elements -= whole * per_copy;
  if (whole == copies || *elements == 0) return bytes;
  const TypeMap& type_map = type.type_map();
  for (Count i = 0; i<type_map.count&& * elements> 0; ++i) {
    bytes += take_bytes(type_map.block_type(i), type_map.block_length(i), elements);
  }
  return bytes;
}

}  // namespace

Count elements_in_bytes(const DatatypeObject& type, Count bytes) {
  if (type.size() == 0) return bytes == 0 ? 0 : MPI_UNDEFINED;
  const Count elements = take_elements(type, bytes / type.size() + 1, &bytes);
  return bytes == 0 ? elements : MPI_UNDEFINED;
}

Count bytes_of_elements(const DatatypeObject& type, Count elements) {
  const Count per_copy = type.bounds().element_count;
  return per_copy == 0 ? 0 : take_bytes(type, elements / per_copy + 1, &elements);
}

int get_count(const DatatypeTable& table, const Status& status, Datatype datatype, Count* count) {
  const DatatypeObject* type = table.find(datatype);
  if (type == nullptr) return MPI_ERR_TYPE;
  if (count == nullptr) return MPI_ERR_ARG;
  const Count bytes = status.byte_count();
  if (type->size() == 0) {
    *count = bytes == 0 ? 0 : MPI_UNDEFINED;
  } else {
    *count = bytes % type->size() == 0 ? bytes / type->size() : MPI_UNDEFINED;
  }
  return MPI_SUCCESS;
}

int get_elements(const DatatypeTable& table, const Status& status, Datatype datatype,
                 Count* count) {
  const DatatypeObject* type = table.find(datatype);
  if (type == nullptr) return MPI_ERR_TYPE;
  if (count == nullptr) return MPI_ERR_ARG;
  *count = elements_in_bytes(*type, status.byte_count());
  return MPI_SUCCESS;
}

int status_set_elements(const DatatypeTable& table, Status* status, Datatype datatype,
                        Count count) {
  const DatatypeObject* type = table.find(datatype);
  if (count < 0) return MPI_ERR_COUNT;
  if (type == nullptr) return MPI_ERR_TYPE;
  if (status == nullptr) return MPI_ERR_ARG;
  status->set_byte_count(bytes_of_elements(*type, count));
  return MPI_SUCCESS;
}

}  // namespace sesame::mpi
