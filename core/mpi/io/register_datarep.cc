// MPI_Register_datarep (MPI 4.1, 14.5.3).
#include <cstring>

#include "core/mpi/api.h"
#include "core/mpi/io/file_errors.h"
#include "core/mpi/io/file_tables.h"
#include "core/mpi/io/representation.h"
#include "core/mpi/messages/rank.h"
#include "core/mpi/objects/errors.h"

namespace sesame::mpi {
namespace {

int register_representation(const char* name, Function read, Function write, Function extent,
                            void* extra_state, bool large) {
  RegisteredRepresentations& registered = file_tables(this_rank()).representations;
  if (name == nullptr || *name == '\0' || std::strlen(name) >= MPI_MAX_DATAREP_STRING) {
    return fail(MPI_ERR_ARG, "the name of a data representation has 1 to " +
                                 std::to_string(MPI_MAX_DATAREP_STRING - 1) + " characters");
  }
  if (find_representation(registered, name) != nullptr) {
    return fail(MPI_ERR_DUP_DATAREP,
                "there is a data representation '" + std::string(name) + "' already");
  }
  if (extent == nullptr) {
    return fail(MPI_ERR_ARG, "the function for the extent of datatypes in files is null");
  }
  registered.push_back(std::make_unique<Representation>(
      Representation{name, Representation::Kind::kUser, read, write, extent, extra_state, large}));
  return MPI_SUCCESS;
}

}  // namespace

// The call names no file, so errors go to the handler of MPI_FILE_NULL, as those of MPI_File_open.
int Register_datarep(const char* datarep, Function read_conversion_fn, Function write_conversion_fn,
                     Function dtype_file_extent_fn, void* extra_state, bool large) {
  const int error = register_representation(datarep, read_conversion_fn, write_conversion_fn,
                                            dtype_file_extent_fn, extra_state, large);
  return error == MPI_SUCCESS ? error : raise_file_error(nullptr, error, "MPI_Register_datarep");
}

}  // namespace sesame::mpi
