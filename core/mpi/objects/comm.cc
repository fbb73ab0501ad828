#include "core/mpi/objects/comm.h"

#include "core/mpi/communicators/topology.h"
#include "core/mpi/messages/buffered.h"
#include "core/mpi/objects/attributes.h"
#include "core/mpi/objects/errhandler.h"
#include "core/mpi/objects/info.h"

namespace sesame::mpi {

CommObject::CommObject() = default;

CommObject::~CommObject() {
  release(local_comm);
  release(errhandler);
  release(info);
}

}  // namespace sesame::mpi
