#include "core/mpi/objects/datatype_query.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "core/mpi/objects/datatype.h"
#include "core/mpi/objects/datatype_builder.h"
#include "core/mpi/objects/datatype_table.h"

namespace sesame::mpi {
namespace {

// A new handle for a type inside another one's contents; predefined types keep theirs.
Datatype hand_out(DatatypeTable& table, const DatatypeObject& type) {
  if (type.is_predefined()) return type.handle();
  DatatypeBuilder builder;
  builder.make_copy(type);
  builder.contents() = type.contents();
  if (type.is_committed()) builder.set_committed();
  return table.insert(builder.finish());
}

}  // namespace

int type_size(const DatatypeTable& table, Datatype datatype, Count* size) {
  const DatatypeObject* type = table.find(datatype);
  if (type == nullptr) return MPI_ERR_TYPE;
  if (size == nullptr) return MPI_ERR_ARG;
  *size = type->size();
  return MPI_SUCCESS;
}

int type_get_extent(const DatatypeTable& table, Datatype datatype, Count* lb, Count* extent) {
  const DatatypeObject* type = table.find(datatype);
  if (type == nullptr) return MPI_ERR_TYPE;
  if (lb == nullptr || extent == nullptr) return MPI_ERR_ARG;
  *lb = type->lb();
  *extent = type->extent();
  return MPI_SUCCESS;
}

int type_get_true_extent(const DatatypeTable& table, Datatype datatype, Count* lb, Count* extent) {
  const DatatypeObject* type = table.find(datatype);
  if (type == nullptr) return MPI_ERR_TYPE;
  if (lb == nullptr || extent == nullptr) return MPI_ERR_ARG;
  *lb = type->true_lb();
  *extent = type->true_extent();
  return MPI_SUCCESS;
}

int type_get_name(const DatatypeTable& table, Datatype datatype, char* name, int* length) {
  if (name == nullptr || length == nullptr) return MPI_ERR_ARG;
  std::string_view text = "MPI_DATATYPE_NULL";
  if (datatype != MPI_DATATYPE_NULL) {
    if (table.find(datatype) == nullptr) return MPI_ERR_TYPE;
    text = table.name(datatype);
  }
  const size_t size = std::min<size_t>(text.size(), MPI_MAX_OBJECT_NAME - 1);
  std::memcpy(name, text.data(), size);
  name[size] = '\0';
  *length = static_cast<int>(size);
  return MPI_SUCCESS;
}

int type_set_name(DatatypeTable& table, Datatype datatype, const char* name) {
  if (table.find(datatype) == nullptr) return MPI_ERR_TYPE;
  if (name == nullptr) return MPI_ERR_ARG;
  table.set_name(datatype, std::string_view(name).substr(0, MPI_MAX_OBJECT_NAME - 1));
  return MPI_SUCCESS;
}

int type_get_envelope(const DatatypeTable& table, Datatype datatype, Envelope* envelope,
                      bool large) {
  const DatatypeObject* type = table.find(datatype);
  if (type == nullptr) return MPI_ERR_TYPE;
  if (envelope == nullptr) return MPI_ERR_ARG;
  const TypeContents& contents = type->contents();
  if (!large && !contents.large_counts.empty()) return MPI_ERR_TYPE;
  envelope->integers = static_cast<Count>(contents.integers.size());
  envelope->addresses = static_cast<Count>(contents.addresses.size());
  envelope->large_counts = static_cast<Count>(contents.large_counts.size());
  envelope->types = static_cast<Count>(contents.types.size());
  envelope->combiner = contents.combiner;
  return MPI_SUCCESS;
}

int type_get_contents(DatatypeTable& table, Datatype datatype, const Envelope& maxima,
                      int* integers, Aint* addresses, Count* large_counts, Datatype* types,
                      bool large) {
  Envelope actual;
  if (const int status = type_get_envelope(table, datatype, &actual, large)) return status;
  if (actual.combiner == MPI_COMBINER_NAMED) return MPI_ERR_TYPE;
  if (maxima.integers < actual.integers || maxima.addresses < actual.addresses ||
      maxima.large_counts < actual.large_counts || maxima.types < actual.types ||
      (actual.integers > 0 && integers == nullptr) ||
      (actual.addresses > 0 && addresses == nullptr) ||
      (actual.large_counts > 0 && large_counts == nullptr) ||
      (actual.types > 0 && types == nullptr)) {
    return MPI_ERR_ARG;
  }
  const TypeContents& contents = table.find(datatype)->contents();
  std::copy(contents.integers.begin(), contents.integers.end(), integers);
  std::copy(contents.addresses.begin(), contents.addresses.end(), addresses);
  std::copy(contents.large_counts.begin(), contents.large_counts.end(), large_counts);
  // Adding a copy may grow the table, but does not move the contents.
  for (const DatatypeRef& type : contents.types) *types++ = hand_out(table, *type);
  return MPI_SUCCESS;
}

}  // namespace sesame::mpi
