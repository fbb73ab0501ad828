/* Loads the plugin named by its argument, out of sight of others, and prints what it gives. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
  void* plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  int (*run)(void) = plugin != NULL ? (int (*)(void))dlsym(plugin, "run") : NULL;
  if (run == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  printf("%d\n", run());
  return 0;
}
