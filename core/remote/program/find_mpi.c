// Makes the programs of a rank find Sesame's MPI library in place of theirs: by whatever name, run
// path or path it is asked for, also by dlopen. An auditing library (LD_AUDIT, rtld-audit(7)): the
// dynamic loader asks it about every library that it looks for. It is in a namespace of its own,
// with a C library of its own.
#define _GNU_SOURCE
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Beginnings of names, and ours for them. What follows in a file's name is its version
// (libmpi.so.40.30).
static const struct {
  const char* name;
  const char* interface;
} kLibraries[] = {
    {"libmpi.so.12", "mpich"},     {"libmpich.so.12", "mpich"}, {"libmpi_abi.so.0", "mpiabi"},
    {"libmpi_abi.so.1", "mpiabi"}, {"libmpi.so.40", "openmpi"}, {"libmpi_mpifh.so.40", "openmpi"},
};

static const char* base_name(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash == NULL ? path : slash + 1;
}

// Null: it is no MPI library.
static const char* interface_of(const char* file) {
  for (size_t i = 0; i < sizeof kLibraries / sizeof kLibraries[0]; ++i) {
    const size_t length = strlen(kLibraries[i].name);
    if (strncmp(file, kLibraries[i].name, length) == 0 &&
        (file[length] == 0 || file[length] == '.'))
      return kLibraries[i].interface;
  }
  return NULL;
}

static char* library_for(const char* interface) {
  static char path[PATH_MAX];
  const char* directory = getenv("SESAME_RANK_LIBRARIES");
  if (directory == NULL) return NULL;
  snprintf(path, sizeof path, "%s/libsesame-rank-%s.so", directory, interface);
  return path;
}

__attribute__((visibility("default"))) unsigned int la_version(unsigned int version) {
  return version < LAV_CURRENT ? version : LAV_CURRENT;
}

__attribute__((visibility("default"))) char* la_objsearch(const char* name, uintptr_t* cookie,
                                                          unsigned int flag) {
  (void)cookie;
  (void)flag;
  const char* file = base_name(name);
  const char* interface = interface_of(file);
  // A name without a version stands for the library that it is a link to.
  char resolved[PATH_MAX];
  if (interface == NULL && strncmp(file, "libmpi", 6) == 0 && strchr(name, '/') != NULL &&
      realpath(name, resolved) != NULL)
    interface = interface_of(base_name(resolved));
  char* ours = interface == NULL ? NULL : library_for(interface);
  return ours != NULL ? ours : (char*)name;
}
