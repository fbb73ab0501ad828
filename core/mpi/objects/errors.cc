#include "core/mpi/objects/errors.h"
#include "core/mpi/objects/object_tables.h"

namespace sesame::mpi {

int fail(int error_class, std::string detail) {
  this_owner().error_detail = std::move(detail);
  return error_class;
}

}  // namespace sesame::mpi
