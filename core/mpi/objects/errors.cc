#include "core/mpi/objects/errors.h"

#include "core/mpi/messages/world.h"

namespace sesame::mpi {

int fail(int error_class, std::string detail) {
  this_rank().error_detail = std::move(detail);
  return error_class;
}

}  // namespace sesame::mpi
