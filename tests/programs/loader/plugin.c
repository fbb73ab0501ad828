/* A plug-in with state, a constructor and a destructor, that calls MPI and a function of the
   program; PLUGIN_OTHER makes a second one. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef PLUGIN_OTHER
#define NAME "other"
#else
#define NAME "plugin"
#endif

int helper_add(int by);
extern int program_number;
int plugin_total = 100;
static int state;
static __thread int local = 7;

static void at_end(void) { printf(NAME " exit handler\n"); }
__attribute__((constructor)) static void begin(void) {
  state = 1000;
  atexit(at_end);
  printf(NAME " begins\n");
}
__attribute__((destructor)) static void end(void) { printf(NAME " ends with %d\n", state); }

int plugin_add(int by) {
  int size;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Barrier(MPI_COMM_WORLD);
  plugin_total += by;
  local += by;
  state += by;
  return state + 10000 * size + helper_add(by) + program_number;
}
int plugin_local(void) { return local; }
const char* plugin_name(void) { return NAME; }
