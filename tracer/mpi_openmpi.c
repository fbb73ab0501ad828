/* The MPI hooks for Open MPI. */
#include "mpi_openmpi.h"

#include <dlfcn.h>

#include "mpi_hooks.inc"

void* sesame_openmpi_objects[8];

void sesame_openmpi_look_up(void* library) {
  static const char* const objects[8] = {
      "ompi_mpi_comm_null", "ompi_mpi_comm_world", "ompi_mpi_comm_self", "ompi_mpi_group_null",
      "ompi_message_null",  "ompi_request_null",   "ompi_mpi_info_null", "ompi_request_empty"};
  for (int i = 0; i < 8; ++i) {
    void* object = dlsym(RTLD_DEFAULT, objects[i]);
    sesame_openmpi_objects[i] = object != NULL ? object : dlsym(library, objects[i]);
  }
}
