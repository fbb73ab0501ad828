/* Opens plug-ins: plugin_user PLUGIN OTHER. Each line says what the dynamic loader answers. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int program_number = 500000;

__attribute__((destructor)) static void end(void) { printf("program ends\n"); }

static const char* last(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

static void* must_open(const char* name, int flags) {
  void* handle = dlopen(name, flags);
  if (handle == NULL) printf("dlopen: %s\n", dlerror());
  return handle;
}

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  program_number += rank;
  printf("not loaded %d\n", dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD) == NULL);
  void* plugin = must_open(argv[1], RTLD_NOW);
  if (plugin == NULL) return 1;
  int (*add)(int) = (int (*)(int))dlsym(plugin, "plugin_add");
  int (*local)(void) = (int (*)(void))dlsym(plugin, "plugin_local");
  int first = add(rank + 1);
  printf("add %d %d\n", first, add(rank + 1));
  printf("total %d local %d\n", *(int*)dlsym(plugin, "plugin_total"), local());
  printf("same handle %d\n", plugin == dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD));
  Dl_info info;
  int found = dladdr((void*)add, &info);
  printf("address %d %s %s\n", found, last(info.dli_fname), info.dli_sname);
  printf("default %d\n", dlsym(RTLD_DEFAULT, "plugin_add") != NULL);
  printf("absent %d\n", dlsym(plugin, "no_such_symbol") != NULL);
  const char* why = dlerror();
  printf("why %s", why ? last(why) : "-");
  printf("; then %s\n", dlerror() ? "more" : "nothing");
  printf("libc %d mpi %d\n", dlsym(plugin, "strlen") != NULL, dlsym(plugin, "MPI_Barrier") != NULL);
  printf("missing %d", dlopen("./no_such_library.so", RTLD_NOW) != NULL);
  printf(" %s\n", dlerror());
  void* other = must_open(argv[2], RTLD_NOW | RTLD_GLOBAL);
  const char* (*name)(void) = (const char* (*)(void))dlsym(RTLD_DEFAULT, "plugin_name");
  printf("global %s %d\n", name ? name() : "-", dlsym(RTLD_NEXT, "plugin_name") == (void*)name);
  printf("system %d\n", dlopen("libm.so.6", RTLD_NOW) != NULL);
  MPI_Barrier(MPI_COMM_WORLD);
  printf("close %d %d\n", dlclose(plugin), dlclose(plugin));
  plugin = must_open(argv[1], RTLD_NOW);
  add = (int (*)(int))dlsym(plugin, "plugin_add");
  printf("again %d\n", add(1));
  (void)other;
  MPI_Finalize();
  return 0;
}
