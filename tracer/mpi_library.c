#include "mpi_library.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counter_files.h"
#include "process.h"
#include "recorder.h"

void* sesame_mpi_real[SESAME_SYMBOLS];
void* sesame_mpi_counted[SESAME_SYMBOLS];

static const char* const names[SESAME_SYMBOLS] = {
#define SESAME_SYMBOL(name) #name,
#include "mpi_symbols.def"
#undef SESAME_SYMBOL
};

static char library_path[4096];

/* --- Which library ------------------------------------------------------------------------ */

/* A library loaded without RTLD_GLOBAL, as by Python, is recognised by its name. The library of C
 * functions is libmpi.so.12, libmpich.so.12, libmpi_abi.so.1 or, packed into a wheel,
 * libmpi-0f3a.so.12. Those of Fortran, C++ and profilers have longer names. */
static bool has_name_of_mpi(const char* path) {
  static const char* const starts[] = {"libmpi.so", "libmpi-",       "libmpich.so",
                                       "libmpich-", "libmpi_abi.so", "libmpi_abi-"};
  const char* slash = strrchr(path, '/');
  const char* base = slash != NULL ? slash + 1 : path;
  for (size_t i = 0; i < sizeof starts / sizeof *starts; ++i) {
    if (strncmp(base, starts[i], strlen(starts[i])) == 0) return true;
  }
  return false;
}

static int see_library(struct dl_phdr_info* info, size_t size, void* unused) {
  (void)size;
  (void)unused;
  if (info->dlpi_name == NULL || !has_name_of_mpi(info->dlpi_name)) return 0;
  snprintf(library_path, sizeof library_path, "%s", info->dlpi_name);
  return 1;
}

static void* find_library(void) {
  Dl_info place;
  void* init = dlsym(RTLD_NEXT, "PMPI_Init");
  if (init != NULL && dladdr(init, &place) != 0 && place.dli_fname != NULL) {
    snprintf(library_path, sizeof library_path, "%s", place.dli_fname);
  } else {
    dl_iterate_phdr(see_library, NULL);
  }
  return library_path[0] != '\0' ? dlopen(library_path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
}

/* MPI libraries that share MPICH's binary interface have one of these in their version. */
static bool is_of_mpich(void* library) {
  static const char* const kin[] = {"MPICH", "Intel(R) MPI", "MVAPICH"};
  int (*get_version)(char*, int*) = sesame_mpi_function(library, "PMPI_Get_library_version");
  char version[8193] = ""; /* MPICH's limit, the longest of all */
  int length;
  if (get_version == NULL || get_version(version, &length) != 0) return false;
  for (size_t i = 0; i < sizeof kin / sizeof *kin; ++i) {
    if (strstr(version, kin[i]) != NULL) return true;
  }
  return false;
}

static const SesameMpiInterface* interface_of(void* library) {
  if (strstr(library_path, "/libmpi_abi") != NULL) return &sesame_mpi_mpiabi;
  if (dlsym(library, "ompi_mpi_comm_world") != NULL) return &sesame_mpi_openmpi;
  return is_of_mpich(library) ? &sesame_mpi_mpich : NULL;
}

void* sesame_mpi_function(void* library, const char* name) {
  return dlsym(library != NULL ? library : RTLD_NEXT, name);
}

/* --- Filling the entries ------------------------------------------------------------------ */

static void absent(void) {
  sesame_say("the program calls a function that its MPI does not have; it ends here",
             library_path[0] != '\0' ? library_path : "no MPI is loaded", 0);
  abort();
}

/* Whether calls are counted, and whether anything is recorded. If only I/O is recorded, the hooks
 * still hide what the library does inside MPI calls. */
typedef struct {
  bool counts;
  bool records;
} Wanted;

/* Sets the entries of one symbol. Each of these functions calls the one before it: the library's, a
 * profiling library's (which defines MPI_X and calls PMPI_X), our hook that counts, our hook that
 * records. With a profiling library, PMPI_X calls the library directly. */
static void fill(void* library, const SesameMpiInterface* interface, Wanted wanted, int i) {
  char profiled[128];
  snprintf(profiled, sizeof profiled, "P%s", names[i]);
  void* real = sesame_mpi_function(library, profiled);
  void* own = sesame_mpi_function(library, names[i]);
  void* next = dlsym(RTLD_NEXT, names[i]);
  bool stacked = next != NULL && next != own && next != real;
  if (real == NULL) real = own != NULL ? own : (void*)absent;
  void* top = stacked ? next : real;
  if (interface != NULL && real != (void*)absent) {
    sesame_mpi_counted[i] = top;
    if (wanted.counts) top = interface->counts[i];
    sesame_mpi_real[i] = top;
    if (wanted.records) top = interface->hooks[i];
  }
  sesame_mpi_entries[2 * i + 1] = stacked ? real : top;
  sesame_mpi_entries[2 * i] = top;
}

static void install(void) {
  const uint64_t since_ns = sesame_system_ns();
  void* library = find_library();
  const SesameMpiInterface* interface = library != NULL ? interface_of(library) : NULL;
  const Wanted wanted = {sesame_settings.cells[0] != '\0' && interface != NULL &&
                             sesame_counter_files_start(sesame_settings.cells),
                         sesame_settings.kinds != 0};
  if (interface == NULL && (sesame_settings.kinds & SESAME_MPI || sesame_settings.cells[0])) {
    sesame_say("MPI calls are not recorded, this MPI is not known", library_path, 0);
  }
  if (!wanted.counts && !wanted.records) interface = NULL;
  if (interface != NULL) interface->begin(library);
  for (int i = 0; i < SESAME_SYMBOLS; ++i) fill(library, interface, wanted, i);
  sesame_process_ready(since_ns);
}

void* sesame_mpi_resolve(unsigned long entry) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, install);
  return sesame_mpi_entries[entry];
}
