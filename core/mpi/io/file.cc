#include "core/mpi/io/file.h"

#include <algorithm>

#include "core/mpi/messages/rank.h"
#include "core/mpi/objects/errhandler.h"
#include "core/mpi/objects/info.h"

namespace sesame::mpi {

FileObject::FileObject() = default;

FileObject::~FileObject() {
  release(comm);
  release(errhandler);
  release(info);
}

bool FileObject::is_first_of_host_file() const {
  const auto me = shared->stored_in.begin() + comm->rank;
  return std::find(shared->stored_in.begin(), me, *me) == me;
}

}  // namespace sesame::mpi
