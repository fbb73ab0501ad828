// Variables of Open MPI's own library that its C++ layer (libmpi_cxx.so.40, the application's file,
// which every program linked by mpicxx needs) names. The layer loads with them, and its classes
// that stand on C functions work; a function of Open MPI's inside that it calls ends the job with
// the function's name.
#include <cstddef>

#include "core/abi/narrow.h"

namespace sesame::abi {
namespace {

struct Opaque {
  // No smaller than Open MPI's variables of these names, of which the largest has 280 bytes.
  char bytes[512];
};

}  // namespace

#define SESAME_OPAQUE(name)                                      \
  extern "C" __attribute__((visibility("default"))) Opaque name; \
  Opaque name = {};
SESAME_OPAQUE(ompi_errcode_intern_lastused)
SESAME_OPAQUE(ompi_errcodes_intern)
SESAME_OPAQUE(ompi_mpi_errors_throw_exceptions)
SESAME_OPAQUE(ompi_registered_datareps)
SESAME_OPAQUE(opal_class_init_epoch)
SESAME_OPAQUE(opal_list_item_t_class)
SESAME_OPAQUE(opal_uses_threads)
#undef SESAME_OPAQUE

}  // namespace sesame::abi
