// Functions of Open MPI's own libraries that its C++ layer (libmpi_cxx.so.40) names. Programs that
// mpicxx has linked need the layer, used or not, and Python binds all names of a library at once.
#include <unistd.h>
#include <cstdio>

#define SESAME_MISSING(name)                                                     \
  extern "C" __attribute__((visibility("default"))) void name() {                \
    std::fputs("sesame: " #name                                                  \
               ": MPI's old C++ bindings of Open MPI are missing in ranks that " \
               "are processes\n",                                                \
               stderr);                                                          \
    _exit(2);                                                                    \
  }
SESAME_MISSING(ompi_attr_create_keyval)
SESAME_MISSING(ompi_errhandler_create)
SESAME_MISSING(ompi_errhandler_invoke)
SESAME_MISSING(opal_class_initialize)
