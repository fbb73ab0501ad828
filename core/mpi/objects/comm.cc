#include "core/mpi/objects/comm.h"

#include "core/mpi/objects/attached_buffer.h"
#include "core/mpi/objects/attributes.h"
#include "core/mpi/objects/errhandler_object.h"
#include "core/mpi/objects/info_object.h"
#include "core/mpi/objects/topology.h"

namespace sesame::mpi {

CommObject::CommObject() = default;

CommObject::~CommObject() {
  release(local_comm);
  release(errhandler);
  release(info);
}

}  // namespace sesame::mpi
