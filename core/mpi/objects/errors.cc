#include "core/mpi/objects/errors.h"

#include "core/mpi/objects/object_tables.h"

namespace sesame::mpi {

int fail(int error_class, std::string detail) {
  this_owner().error_detail = std::move(detail);
  return error_class;
}

int check_out(const void* address, const char* what) {
  if (address != nullptr) return MPI_SUCCESS;
  return fail(MPI_ERR_ARG, std::string("the address for ") + what + " is a null pointer");
}

}  // namespace sesame::mpi
