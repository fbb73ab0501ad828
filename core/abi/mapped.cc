// MPI functions that consist of calls of other MPI functions, the same for every interface: access
// to the fields of a status, functions deprecated since MPI-2, and MPI 5's queries about Fortran's
// types.
#include <climits>
#include <cstdint>
#include <cstring>

#include "core/mpi/api.h"
#include "core/mpi/objects/errors.h"

namespace sesame::mpi {

// ---- Status fields ----

namespace {

int check_status(const Status* status) {
  if (status != nullptr && status != MPI_STATUS_IGNORE) return MPI_SUCCESS;
  return fail(MPI_ERR_ARG, "the status is null or MPI_STATUS_IGNORE");
}

int get_field(const Status* status, int Status::*field, int* value) {
  MPI_TRY(check_status(status));
  *value = status->*field;
  return MPI_SUCCESS;
}

int set_field(Status* status, int Status::*field, int value) {
  MPI_TRY(check_status(status));
  status->*field = value;
  return MPI_SUCCESS;
}

}  // namespace

int Status_get_error(const Status* status, int* error) {
  return get_field(status, &Status::MPI_ERROR, error);
}
int Status_get_source(const Status* status, int* source) {
  return get_field(status, &Status::MPI_SOURCE, source);
}
int Status_get_tag(const Status* status, int* tag) {
  return get_field(status, &Status::MPI_TAG, tag);
}
int Status_set_error(Status* status, int error) {
  return set_field(status, &Status::MPI_ERROR, error);
}
int Status_set_source(Status* status, int source) {
  return set_field(status, &Status::MPI_SOURCE, source);
}
int Status_set_tag(Status* status, int tag) { return set_field(status, &Status::MPI_TAG, tag); }

int Status_set_cancelled(Status* status, int flag) {
  MPI_TRY(check_status(status));
  status->set_cancelled(flag != 0);
  return MPI_SUCCESS;
}

int Test_cancelled(const Status* status, int* flag) {
  MPI_TRY(check_status(status));
  *flag = status->cancelled() ? 1 : 0;
  return MPI_SUCCESS;
}

// ---- Deprecated ----

int Type_extent(Datatype datatype, Count* extent) {
  Count lower_bound = 0;
  return Type_get_extent(datatype, &lower_bound, extent);
}

int Type_lb(Datatype datatype, Count* displacement) {
  Count extent = 0;
  return Type_get_extent(datatype, displacement, &extent);
}

int Type_ub(Datatype datatype, Count* displacement) {
  Count extent = 0;
  MPI_TRY(Type_get_extent(datatype, displacement, &extent));
  *displacement += extent;
  return MPI_SUCCESS;
}

// ---- ABI information ----

namespace {

struct Entry {
  const char* key;
  const char* value;
};

int create_info(const Entry* entries, size_t size, Info* info) {
  MPI_TRY(Info_create(info));
  for (size_t i = 0; i < size; ++i) MPI_TRY(Info_set(*info, entries[i].key, entries[i].value));
  return MPI_SUCCESS;
}

// Sizes in bytes with gfortran's default options, which our datatypes have.
constexpr Entry kFortranTypes[] = {
    {"mpi_logical_size", "4"},
    {"mpi_integer_size", "4"},
    {"mpi_real_size", "4"},
    {"mpi_double_precision_size", "8"},
    {"mpi_logical1_supported", "true"},
    {"mpi_logical2_supported", "true"},
    {"mpi_logical4_supported", "true"},
    {"mpi_logical8_supported", "true"},
    {"mpi_logical16_supported", "true"},
    {"mpi_integer1_supported", "true"},
    {"mpi_integer2_supported", "true"},
    {"mpi_integer4_supported", "true"},
    {"mpi_integer8_supported", "true"},
    {"mpi_integer16_supported", "true"},
    {"mpi_real2_supported", "true"},
    {"mpi_real4_supported", "true"},
    {"mpi_real8_supported", "true"},
    {"mpi_real16_supported", "true"},
    {"mpi_complex4_supported", "true"},
    {"mpi_complex8_supported", "true"},
    {"mpi_complex16_supported", "true"},
    {"mpi_complex32_supported", "true"},
    {"mpi_double_complex_supported", "true"},
};

constexpr Entry kTypeSizes[] = {
    {"mpi_aint_size", "8"},
    {"mpi_count_size", "8"},
    {"mpi_offset_size", "8"},
};

}  // namespace

int Abi_get_fortran_booleans(int logical_size, void* logical_true, void* logical_false,
                             int* is_set) {
  *is_set = 1;
  if (logical_size != static_cast<int>(sizeof(Fint))) {
    return fail(MPI_ERR_ABI, "a Fortran LOGICAL has 4 bytes");
  }
  const Fint values[] = {1, 0};
  std::memcpy(logical_true, &values[0], sizeof(Fint));
  std::memcpy(logical_false, &values[1], sizeof(Fint));
  return MPI_SUCCESS;
}

int Abi_get_fortran_info(Info* info) {
  return create_info(kFortranTypes, sizeof(kFortranTypes) / sizeof(Entry), info);
}

int Abi_get_info(Info* info) {
  return create_info(kTypeSizes, sizeof(kTypeSizes) / sizeof(Entry), info);
}

int Abi_set_fortran_booleans(int, void*, void*) {
  return fail(MPI_ERR_ABI, "the values of Fortran's LOGICAL are set already");
}

int Abi_set_fortran_info(Info) {
  return fail(MPI_ERR_ABI, "the sizes of Fortran's types are set already");
}

}  // namespace sesame::mpi
