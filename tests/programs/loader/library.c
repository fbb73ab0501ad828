/* A shared library with state. */
#include "library.h"

int library_value = 11;
const char *library_names[2] = {"alpha", "beta"};
static __thread int thread_count = 1000;
static int constructed;

__attribute__((constructor)) static void construct(void) { constructed = 5; }

int library_count(void) {
  static int calls;
  library_value += 1;
  return constructed + ++calls;
}
int *library_thread_count(void) { return &thread_count; }
__attribute__((weak)) int program_answer(void) { return -1; }
int library_ask(void) { return program_answer(); }
