#include "core/mpi/comm.h"

#include "core/mpi/attributes.h"
#include "core/mpi/buffered.h"
#include "core/mpi/errhandler.h"
#include "core/mpi/info.h"
#include "core/mpi/topology.h"

namespace sesame::mpi {

CommObject::CommObject() = default;

CommObject::~CommObject() {
  release(local_comm);
  release(errhandler);
  release(info);
}

}  // namespace sesame::mpi
