#include "core/mpi/objects/object_tables.h"

#include "core/mpi/objects/attributes.h"
#include "core/mpi/objects/errhandler_object.h"
#include "core/mpi/objects/info_object.h"
#include "core/mpi/objects/session_object.h"

namespace sesame::mpi {

ObjectTables::ObjectTables() = default;

ObjectTables::~ObjectTables() {
  keyvals.visit([](KeyvalObject& keyval) { keyval.table = nullptr; });
  release(world);
  release(self);
  release(universe);
  release(empty_group);
  release(environment);
  for (ErrhandlerObject* errhandler : predefined_errhandlers) release(errhandler);
}

ErrorState& this_error_state() { return this_owner().errors; }

}  // namespace sesame::mpi
